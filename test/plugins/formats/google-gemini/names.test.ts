/** Free-text tools, which Google does not have. */
import t from 'tap'
import type { Tool, Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { call, contentOf, stop } from './answer-builders.ts'
import { assistant, contentsOf, user, withTools } from './prompt-builders.ts'

t.test('Gemini codec: a free-text tool becomes a function with one argument', t => {
  const free: Tool = { type: 'free', name: 'patch', description: 'd' }
  const choice = { type: 'tool', name: 'patch' } as const
  const { body } = withTools([free], { choice })
  t.match(body, {
    tools: [
      {
        functionDeclarations: [
          { name: 'tollgate_text_patch', parametersJsonSchema: { required: ['input'] } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { allowedFunctionNames: ['tollgate_text_patch'] } },
  })
  const freeTextCall = call({ name: 'tollgate_text_patch', args: { input: '*** a' } })
  t.match(contentOf(freeTextCall, stop()), [
    { type: 'call', name: 'patch', isFreeText: true, input: '*** a' },
  ])
  const turns: Turn[] = [
    assistant({ type: 'call', id: 'a', name: 'patch', isFreeText: true, input: '*** a' }),
    user({ type: 'result', id: 'a', content: [{ type: 'text', text: 'ok' }], isFreeText: true }),
  ]
  t.match(contentsOf(turns), [
    { parts: [{ functionCall: { name: 'tollgate_text_patch', args: { input: '*** a' } } }] },
    { parts: [{ functionResponse: { name: 'tollgate_text_patch' } }] },
  ])
  t.end()
})
