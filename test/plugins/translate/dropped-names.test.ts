/** Names in x-tollgate-dropped are those that the client wrote in its own format. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { JSON_TYPE, translateAttempt } from '../../helpers/formats/translation.ts'

const ANSWERS: Readonly<Record<string, Json>> = {
  'openai-chat': { choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }] },
  'openai-responses': { status: 'completed', output: [] },
  'anthropic-messages': { content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn' },
  'google-gemini': { candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }] },
}
const droppedBy = async (client: string, target: string, body: object): Promise<string> => {
  const upstreamReply = { headers: JSON_TYPE, body: JSON.stringify(ANSWERS[target]) }
  const { reply, fault } = await translateAttempt({
    client,
    target,
    body: body as Json,
    upstreamReply,
  })
  t.notOk(fault)
  return `${reply?.headers['x-tollgate-dropped']}`
}

t.test('dropped fields: a title of an Anthropic document is a title', async t => {
  const source = { type: 'text', media_type: 'text/plain', data: 'x' }
  const content = [{ type: 'document', title: 'Notes', source }]
  const body = { max_tokens: 9, messages: [{ role: 'user', content }] }
  for (const target of ['openai-chat', 'openai-responses', 'google-gemini'])
    t.equal(await droppedBy('anthropic-messages', target, body), 'title', target)
})
t.test('dropped fields: Gemini clients read the names of their own members', async t => {
  const image = {
    inlineData: { mimeType: 'image/png', data: 'eA==', displayName: 'a' },
    mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
  }
  const body = {
    contents: [{ role: 'user', parts: [image] }],
    tools: [
      { functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] },
      { googleSearch: { excludeDomains: ['a.example'] } },
    ],
    toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
  }
  const messages = await droppedBy('google-gemini', 'anthropic-messages', body)
  t.match(messages, /mediaResolution, displayName/)
  const responses = await droppedBy('google-gemini', 'openai-responses', body)
  t.match(responses, 'googleSearch.excludeDomains')
  const gemini = await droppedBy('google-gemini', 'google-gemini', {
    ...body,
    tools: [body.tools[0]],
  })
  t.match(gemini, 'toolConfig.functionCallingConfig.mode')
  for (const names of [messages, responses, gemini])
    for (const name of names.split(', '))
      t.match(JSON.stringify(body), `"${name.replace(/^.*\./, '')}"`, name)
})
t.test('dropped fields: Responses clients read the names of their own members', async t => {
  const filters = { allowed_domains: ['a.example'] }
  const body = { input: 'hi', tools: [{ type: 'web_search', filters }], max_tool_calls: 2 }
  t.equal(
    await droppedBy('openai-responses', 'google-gemini', body),
    'web_search.filters.allowed_domains, max_tool_calls',
  )
})
