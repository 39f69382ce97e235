/** Whole answers and errors of messages that no recording covers. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { anthropicMessages } from '../../../../plugins/formats/anthropic-messages/index.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Answer } from '../../../../plugins/formats/hub/answer.ts'
import { codecOf, contextWith } from '../../../helpers/formats/codec.ts'
import fc from '../../../helpers/property.ts'
import { NAME, startSdkReader } from './messages.ts'

const stage = await startSdkReader(t)
const codec = codecOf(NAME)
const write = (answer: Answer): Fields => codec.encodeAnswer(answer, contextWith())
const read = (body: Fields) => codec.decodeAnswer(body)

t.test('messages encoder: an answer without candidates becomes a refusal (edge 6)', async t => {
  const message = await stage.read(JSON.stringify(write({ choices: [] })))
  t.match(message, { content: [], stop_reason: 'refusal', usage: { input_tokens: 0 } })
})
t.test('messages encoder: a broken answer is not a clean stop (edge 5)', async t => {
  const stop = { reason: 'broken', message: 'MALFORMED_FUNCTION_CALL' } as const
  t.match(write({ choices: [{ content: [{ type: 'text', text: 'a' }], stop }] }), {
    stop_reason: 'refusal',
    stop_details: { explanation: 'MALFORMED_FUNCTION_CALL' },
  })
})
t.test('messages encoder: omits an empty text, which the provider rejects', async t => {
  const content = [{ type: 'text', text: '' }] as const
  t.same(write({ choices: [{ content, stop: { reason: 'end' } }] }).content, [])
})
t.test('messages encoder: writes a hosted call as a use and a result with the same id', async t => {
  const kinds = {
    web_search: 'web_search_tool_result',
    web_fetch: 'web_fetch_tool_result',
    url_context: 'web_fetch_tool_result',
    code_execution: 'code_execution_tool_result',
    file_search: undefined,
  } as const
  for (const [tool, result] of Object.entries(kinds)) {
    const call = {
      type: 'hostedCall',
      id: 'ws_1',
      tool: tool as keyof typeof kinds,
      input: 'x',
    } as const
    const content = [{ type: 'text', text: 'a' }, call, { type: 'text', text: 'b' }] as const
    const blocks = write({ choices: [{ content, stop: { reason: 'end' } }] })
      .content as readonly Fields[]
    const between = result ? ['server_tool_use', result] : ['server_tool_use']
    t.same(
      blocks.map(({ type }) => type),
      ['text', ...between, 'text'],
    )
    t.equal(blocks[1]?.id, 'srvtoolu_ws_1')
    if (result) t.equal(blocks[2]?.tool_use_id, 'srvtoolu_ws_1')
  }
})
t.test('messages encoder: has a value for every stop reason', async t => {
  const words = {
    end: 'end_turn',
    sequence: 'stop_sequence',
    length: 'max_tokens',
    call: 'tool_use',
    refusal: 'refusal',
    filter: 'refusal',
    pause: 'pause_turn',
    broken: 'refusal',
  } as const
  for (const [reason, word] of Object.entries(words))
    t.match(write({ choices: [{ content: [], stop: { reason: reason as keyof typeof words } }] }), {
      stop_reason: word,
    })
  const stop = { reason: 'sequence', sequence: 'X' } as const
  t.match(write({ choices: [{ content: [], stop }] }), { stop_sequence: 'X' })
})
t.test('messages encoder: keeps its own ids and derives others from the exchange', async t => {
  t.equal(write({ id: 'msg_7', choices: [] }).id, 'msg_7')
  t.equal(write({ id: 'chatcmpl-7', choices: [] }).id, 'msg_0123456789abcdef')
})
t.test('messages decoder: accepts an answer without readable content', async t => {
  for (const body of [
    {},
    { content: null },
    { content: [7, null, {}] },
    { content: 'x', usage: 7 },
  ])
    t.match(read(body).choices, [{ stop: { reason: 'end' } }])
  t.same(read({ content: [{ type: 'tool_use' }] }).choices[0]?.stop, { reason: 'call' })
})
t.test('messages codec: converts the names of service tiers', async t => {
  t.equal(read({ usage: { service_tier: 'standard' } }).tier, 'default')
  t.match(write({ choices: [], tier: 'default' }), { usage: { service_tier: 'standard' } })
  t.match(write({ choices: [], tier: 'flex' }), { usage: { service_tier: null } })
})
t.test('messages codec: keeps the totals of usage in both directions (edge 14)', async t => {
  const amount = fc.nat({ max: 1_000_000 })
  const meters = fc.record(
    {
      input: amount,
      cached: amount,
      cache_write: amount,
      cache_write_1h: amount,
      output: amount,
      thinking: amount,
      web_search: amount,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(meters, meters => {
      const { usage } = write({ choices: [], meters })
      const back = anthropicMessages.usage.meters(usage as Fields)
      const positive = Object.fromEntries(Object.entries(meters).filter(([, each]) => each > 0))
      t.same(back, positive)
    }),
    { numRuns: 50 },
  )
  const allMeters = { input: 1, audio_input: 2, image_input: 4, output: 8, audio_output: 16 }
  t.match(write({ choices: [], meters: allMeters }), {
    usage: { input_tokens: 7, output_tokens: 24 },
  })
})

t.test('messages error events: map every type to a status', async t => {
  const types = [
    ['invalid_request_error', 400],
    ['authentication_error', 401],
    ['billing_error', 402],
    ['permission_error', 403],
    ['not_found_error', 404],
    ['request_too_large', 413],
    ['rate_limit_error', 429],
    ['api_error', 500],
    ['timeout_error', 504],
    ['overloaded_error', 529],
  ] as const
  for (const [type, status] of types) {
    const body = { type: 'error', error: { type, message: 'Why.' }, request_id: 'req' }
    t.same(codec.decodeError(status, body), { status, type, message: 'Why.' })
    const [, event] = [0, { name: 'error', data: JSON.stringify(body), start: 0, end: 0 }] as const
    t.match(anthropicMessages.stream.error(event), { status, body })
  }
})
t.test('messages error replies: yield the field or the code of other formats', async t => {
  const decodeMessage = (message: string) =>
    codec.decodeError(400, { error: { type: 'x', message } })
  t.match(decodeMessage('messages.0.content: Input should be a valid list'), {
    param: 'messages.0.content',
  })
  t.notOk('param' in decodeMessage('Your credit balance is too low: see billing'))
  t.match(decodeMessage('prompt is too long: 9 tokens > 8 maximum'), {
    code: 'context_length_exceeded',
  })
})
t.test('messages error replies: accept any shape of body', async t => {
  const rows: readonly (readonly [Json | undefined, string])[] = [
    [undefined, 'The upstream refused with status 502.'],
    [null, 'The upstream refused with status 502.'],
    ['Bad gateway', 'Bad gateway'],
    [{ error: 'no' }, 'no'],
    [{ detail: 'no' }, 'no'],
    [{ message: 'no' }, 'no'],
    [{ error: { message: 7 } }, 'The upstream refused with status 502.'],
    [[{ error: {} }], 'The upstream refused with status 502.'],
  ]
  for (const [body, message] of rows)
    t.match(codec.decodeError(502, body), { status: 502, message })
})
