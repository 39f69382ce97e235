/** Thoughts of other providers come back with the calls of Gemini clients that send no thoughts. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { JSON_TYPE, SSE, translateAttempt } from '../../../helpers/formats/translation.ts'

const [GEMINI, MESSAGES, RESPONSES] = ['google-gemini', 'anthropic-messages', 'openai-responses']
type Part = { readonly thought?: boolean; readonly [member: string]: Json | undefined }
const PATH = '/v1beta/models/asked'
const USER = { role: 'user', parts: [{ text: 'Weather?' }] }
const FUNCTIONS = [{ functionDeclarations: [{ name: 'weather' }] }]
const THINKING = { thinkingConfig: { thinkingBudget: 1_024, includeThoughts: true } }

const messagesStream = (...events: readonly { readonly type: string }[]): string =>
  events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
const usage = { input_tokens: 3, output_tokens: 9 }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage }
const thinking = { type: 'thinking', thinking: 'I look it up.', signature: 'c2lnbmVk' }
const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Lima' } }
const STREAM = messagesStream(
  { type: 'message_start', message: { ...message, content: [] } } as never,
  {
    type: 'content_block_start',
    index: 0,
    content_block: { ...thinking, thinking: '', signature: '' },
  } as never,
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'thinking_delta', thinking: 'I look ' },
  } as never,
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'thinking_delta', thinking: 'it up.' },
  } as never,
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'signature_delta', signature: 'c2lnbmVk' },
  } as never,
  { type: 'content_block_stop', index: 0 } as never,
  { type: 'content_block_start', index: 1, content_block: { ...call, input: {} } } as never,
  {
    type: 'content_block_delta',
    index: 1,
    delta: { type: 'input_json_delta', partial_json: '{"city":"Lima"}' },
  } as never,
  { type: 'content_block_stop', index: 1 } as never,
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage } as never,
  { type: 'message_stop' },
)
const PLAIN = JSON.stringify({ ...message, content: [thinking, call], stop_reason: 'tool_use' })

/** The parts that the client gets. */
const partsOf = async (target: string, body: string, isStream: boolean): Promise<Part[]> => {
  const verb = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const { output, fault } = await translateAttempt({
    client: GEMINI,
    target,
    body: { contents: [USER], tools: FUNCTIONS, generationConfig: THINKING },
    path: `${PATH}:${verb}`,
    upstreamReply: { headers: isStream ? SSE : JSON_TYPE, body },
  })
  t.equal(fault, undefined)
  const texts = isStream
    ? [...(output?.text ?? '').matchAll(/^data: (.*)$/gm)].map(([, each]) => each)
    : [output?.text]
  return texts.flatMap(each => JSON.parse(each ?? '').candidates?.[0]?.content?.parts ?? [])
}
const nextRequest = (target: string, parts: readonly Part[]) => {
  const response = { functionResponse: { name: 'weather', response: { output: 'sunny' } } }
  const contents = [USER, { role: 'model', parts }, { role: 'user', parts: [response] }]
  const body = { contents, tools: FUNCTIONS, generationConfig: THINKING } as unknown as Json
  const { prompt } = decodePrompt(GEMINI, body, `${PATH}:generateContent`)
  const { body: upstreamBody, dropped } = encodePrompt(target, prompt, { maxOutput: 8_192 })
  return { body: upstreamBody as unknown as Readonly<Record<string, readonly Json[]>>, dropped }
}

for (const isStream of [true, false])
  t.test(
    `call signatures: thoughts of messages come back, ${isStream ? 'stream' : 'plain'}`,
    async t => {
      const parts = await partsOf(MESSAGES, isStream ? STREAM : PLAIN, isStream)
      t.ok(parts.some(({ thought }) => thought))
      for (const history of [parts.filter(({ thought }) => !thought), parts]) {
        const { body, dropped } = nextRequest(MESSAGES, history)
        const [, assistant] = body.messages ?? []
        t.match(assistant, {
          role: 'assistant',
          content: [thinking, { type: 'tool_use', name: 'weather', input: { city: 'Lima' } }],
        })
        t.equal((assistant as { content: Json[] }).content.length, 2)
        t.match(body.thinking, { type: 'enabled' })
        t.same(dropped, [])
      }
    },
  )

t.test('call signatures: reasoning items of responses come back', async t => {
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'I look.' }],
    encrypted_content: 'ZW5jcnlwdGVk',
  }
  const item = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'weather',
    arguments: '{}',
  }
  const body = JSON.stringify({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [reasoning, item],
    usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
  })
  const parts = await partsOf(RESPONSES, body, false)
  const request = nextRequest(
    RESPONSES,
    parts.filter(({ thought }) => !thought),
  )
  const [, first, second] = request.body.input ?? []
  t.match(first, { type: 'reasoning', encrypted_content: 'ZW5jcnlwdGVk' })
  t.match(second, { type: 'function_call', name: 'weather' })
})

t.test('call signatures: what another wrote in their place is not read', t => {
  const payloadWith = (data: Json) =>
    Buffer.from(`tollgate:${JSON.stringify([MESSAGES, data, 'thoughts', null])}`).toString('base64')
  for (const data of ['', '7', '[7,{"text":1,"payload":{}},{"text":"a"}]', '{"text":"a"}']) {
    const functionCall = { name: 'weather', args: {} }
    const { body } = nextRequest(MESSAGES, [{ functionCall, thoughtSignature: payloadWith(data) }])
    t.match(body.messages?.[1], { content: [{ type: 'tool_use' }] })
  }
  t.end()
})
