/** Requests of Converse that Bedrock refuses. */
import type { RuleCases } from './rule-cases.ts'

const by = (role: string, ...content: readonly object[]) => ({ role, content })
const user = by('user', { text: 'hi' })
const use = (id: string, name = 'f') => ({ toolUse: { toolUseId: id, name, input: {} } })
const result = (id: string) => ({ toolResult: { toolUseId: id, content: [{ text: 'ok' }] } })
const of = (...messages: readonly object[]) => ({ body: { messages } })
const tool = (members: object = {}) => ({
  toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } }, ...members },
})
const tools = (toolConfig: object) => ({ body: { toolConfig } })
const bytes = { bytes: 'AA==' }
const cachePoint = { cachePoint: { type: 'default' } }

export const CONVERSE_CASES: RuleCases = {
  model: 'anthropic.claude-sonnet-4-6',
  good: {
    messages: [
      user,
      by('assistant', use('c1')),
      by('user', result('c1'), { text: 'and?' }),
      by('assistant', { text: 'ok' }),
      by('user', { text: 'read' }, { document: { name: 'a (1)', format: 'pdf', source: bytes } }),
    ],
    system: [{ text: 'be brief' }, cachePoint],
    toolConfig: { tools: [tool()], toolChoice: { auto: {} } },
    inferenceConfig: { maxTokens: 100, temperature: 0.5 },
  },
  broken: {
    order: {
      none: of(),
      'the assistant first': of(by('assistant', { text: 'a' }), user),
      'twice the user': of(user, user),
      empty: of(by('user')),
    },
    pairs: {
      'no result': of(user, by('assistant', use('c1')), user),
      'no call': of(by('user', result('c1'))),
      last: of(user, by('assistant', use('c1'))),
    },
    names: {
      id: of(user, by('assistant', use('x'.repeat(65))), by('user', result('x'.repeat(65)))),
      name: of(user, by('assistant', use('c1', 'a b')), by('user', result('c1'))),
      twice: tools({ tools: [tool(), tool()] }),
    },
    tools: {
      'no toolConfig': { body: { toolConfig: undefined } },
      'no tools': tools({ tools: [] }),
      root: tools({ tools: [tool({ inputSchema: { json: {} } })] }),
      description: tools({ tools: [tool({ description: '' })] }),
      choice: tools({ tools: [tool()], toolChoice: { tool: { name: 'g' } } }),
    },
    texts: { blank: of(by('user', { text: ' ' })) },
    media: {
      name: of(
        by('user', { text: 'a' }, { document: { name: 'a.pdf', format: 'pdf', source: bytes } }),
      ),
      alone: of(by('user', { document: { name: 'a', format: 'pdf', source: bytes } })),
      format: of(by('user', { image: { format: 'bmp', source: bytes } })),
    },
    signatures: {
      none: of(
        user,
        by('assistant', { reasoningContent: { reasoningText: { text: 'hm' } } }),
        user,
      ),
    },
    settings: {
      temperature: { body: { inferenceConfig: { temperature: 1.5 } } },
      output: { body: { inferenceConfig: { maxTokens: 0 } } },
      effort: { body: { outputConfig: { effort: 'xhigh' } } },
      stop: { body: { inferenceConfig: { stopSequences: [''] } } },
      points: of(by('user', { text: 'a' }, ...Array.from({ length: 4 }, () => cachePoint))),
    },
  },
}
