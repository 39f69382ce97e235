/** Messages that Anthropic refuses. */
import type { RuleCases } from './rule-cases.ts'

const text = (content: string) => ({ type: 'text', text: content })
const user = { role: 'user', content: 'hi' }
const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
const by = (role: string, ...content: readonly object[]) => ({ role, content })
const of = (...messages: readonly object[]) => ({ body: { messages } })
const image = (source: object) => of(by('user', { type: 'image', source }))
const tool = (members: object) => ({ name: 'f', input_schema: { type: 'object' }, ...members })
const document = (members: object) => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data: 'a' },
  ...members,
})
const cache_control = { type: 'ephemeral' }
const thinking = { type: 'enabled', budget_tokens: 1_024 }
const thought = { type: 'thinking', thinking: 'hm', signature: 's' }
const looped = [user, by('assistant', use('c1')), by('user', result('c1'))]
const OLD = 'claude-sonnet-4-5'

export const MESSAGES_CASES: RuleCases = {
  model: 'claude-opus-5',
  good: {
    messages: [
      by('user', { ...text('hi'), cache_control }),
      by('assistant', thought, use('c1'), use('c2')),
      by('user', result('c1'), result('c2'), text('and?')),
      { role: 'system', content: 'be brief' },
      by('assistant', text('ok')),
      user,
    ],
    model: 'claude-opus-5',
    max_tokens: 100,
    thinking: { type: 'adaptive' },
    tools: [tool({})],
    tool_choice: { type: 'auto' },
  },
  broken: {
    pairs: {
      'no result': of(user, by('assistant', use('c1')), user),
      'no call': of(by('user', result('c1'))),
      'two results': of(user, by('assistant', use('c1')), by('user', result('c1'), result('c1'))),
      'text first': of(user, by('assistant', use('c1')), by('user', text('a'), result('c1'))),
      'calls are last': of(user, by('assistant', use('c1'))),
      'a system turn between': of(
        user,
        by('assistant', use('c1')),
        { role: 'system', content: 'a' },
        by('user', result('c1')),
      ),
    },
    ids: {
      colon: of(user, by('assistant', use('f:0')), by('user', result('f:0'))),
      twice: of(user, by('assistant', use('a'), use('a')), by('user', result('a'))),
    },
    'tool-names': {
      dot: { body: { tools: [tool({ name: 'a.b' })] } },
      twice: { body: { tools: [tool({}), tool({})] } },
    },
    'tool-schemas': {
      'no type': { body: { tools: [tool({ input_schema: {} })] } },
      oneOf: { body: { tools: [tool({ input_schema: { type: 'object', oneOf: [] } })] } },
    },
    'tool-choice': {
      'no tools': { body: { tools: [], tool_choice: { type: 'any' } } },
      unknown: { body: { tool_choice: { type: 'tool', name: 'g' } } },
    },
    contents: {
      none: of(),
      'the assistant first': of(by('assistant', text('a')), user),
      empty: of(by('user'), by('assistant', text('a')), user),
      'white space': of(by('user', text(' \n'))),
      'a prefill with white space': of(user, by('assistant', text('a '))),
    },
    'system-turns': {
      model: { model: OLD, ...of(user, { role: 'system', content: 'a' }) },
      'behind the assistant': of(
        user,
        by('assistant', text('a')),
        { role: 'system', content: 'a' },
        user,
      ),
      'before the user': of(user, { role: 'system', content: 'a' }, user),
    },
    thinking: {
      kind: { body: { thinking } },
      least: { model: OLD, body: { thinking: { ...thinking, budget_tokens: 1 } } },
      most: { model: OLD, body: { thinking } },
      temperature: { body: { temperature: 0.5 } },
      top_k: { body: { top_k: 5 } },
      top_p: { body: { top_p: 0.5 } },
      'a forced call': { body: { tool_choice: { type: 'any' } } },
      prefill: of(user, by('assistant', text('a'))),
      'calls without thoughts': {
        model: OLD,
        body: { thinking, max_tokens: 2_000, messages: looped },
      },
    },
    signatures: {
      empty: of(user, by('assistant', { ...thought, signature: '' }, text('a')), user),
      'no data': of(
        user,
        by('assistant', { type: 'redacted_thinking', data: '' }, text('a')),
        user,
      ),
    },
    prefill: { 'a new model': of(user, by('assistant', text('a'))) },
    sampling: {
      range: { model: 'claude-sonnet-4-0', body: { temperature: 1.5 } },
      both: { model: OLD, body: { temperature: 0.5, top_p: 0.5 } },
      none: { body: { temperature: 1 } },
    },
    media: {
      bmp: image({ type: 'base64', media_type: 'image/bmp', data: 'AA' }),
      http: image({ type: 'url', url: 'http://example.com/a.png' }),
      'no data': image({ type: 'base64', media_type: 'image/png', data: '' }),
      word: of(
        by(
          'user',
          document({ source: { type: 'base64', media_type: 'application/msword', data: 'AA' } }),
        ),
      ),
      'inside a result': of(
        user,
        by('assistant', use('c1')),
        by('user', {
          ...result('c1'),
          content: [{ type: 'image', source: { type: 'url', url: 'http://example.com/a.png' } }],
        }),
      ),
    },
    caching: {
      five: of(by('user', ...Array.from('abcde', each => ({ ...text(each), cache_control })))),
      'longer behind': of(
        by(
          'user',
          { ...text('a'), cache_control },
          { ...text('b'), cache_control: { ...cache_control, ttl: '1h' } },
        ),
      ),
      thinking: of(user, by('assistant', { ...thought, cache_control }, text('a')), user),
    },
    results: {
      'a failure with media': of(
        user,
        by('assistant', use('c1')),
        by('user', {
          ...result('c1'),
          is_error: true,
          content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }],
        }),
      ),
      'an empty text': of(
        user,
        by('assistant', use('c1')),
        by('user', { ...result('c1'), content: [text('')] }),
      ),
    },
    limits: {
      user: { body: { metadata: { user_id: 'u'.repeat(257) } } },
      stop: { body: { stop_sequences: ['\n'] } },
      output: { body: { max_tokens: -1 } },
    },
    'output-config': {
      effort: { model: OLD, body: { output_config: { effort: 'low' } } },
      open: {
        body: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      },
      format: {
        model: 'claude-3-7-sonnet',
        body: { output_config: { format: { type: 'json_schema', schema: {} } } },
      },
    },
    betas: { 'context management': { body: { context_management: { edits: [] } } } },
    citations: {
      some: of(by('user', document({ citations: { enabled: true } }), document({}), text('a'))),
    },
  },
}
