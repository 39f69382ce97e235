/** Token counts and compactions of responses by the official SDK: an upstream with the endpoint
 *  gets the request, for any other the gateway counts, or lets the model write a summary that every
 *  target can read. */
import t from 'tap'
import {
  messageBody,
  plainReply,
  rejectsWith,
  responseBody,
} from '../../helpers/gateway/stored-responses.ts'
import { otherClient, ownClient, rows, sentBody, upstream } from './stored-gateway.ts'

const input = [
  { role: 'user' as const, content: 'Capital of France?' },
  { role: 'assistant' as const, content: 'Paris' },
  { role: 'user' as const, content: 'And its river?' },
]
const lastTarget = async (script: string) =>
  (await upstream.events('request', script)).at(-1)?.head?.target
/** Stores a response; returns its id. */
const startChain = async (): Promise<string> => {
  await upstream.script('gp', plainReply(responseBody('resp_start', 'Paris')))
  const { id } = await ownClient.responses.create({ model: 'gp', input: 'Capital of France?' })
  return id
}

t.test('input tokens: an upstream of the format counts, also the history', async t => {
  const previous = await startChain()
  const counted = { object: 'response.input_tokens', input_tokens: 77 }
  await upstream.script('gp', plainReply(counted))
  const request = { model: 'gp', input: 'And its river?', previous_response_id: previous }
  t.same(await ownClient.responses.inputTokens.count(request), counted)
  t.match(await lastTarget('gp'), /\/v1\/responses\/input_tokens$/)
  const body = await sentBody('gp')
  t.equal(body.model, 'gpt')
  t.match(JSON.stringify(body.input), /Capital of France.*Paris.*And its river/)
  t.notOk('previous_response_id' in body)
})

t.test('input tokens: the gateway estimates for other upstreams', async t => {
  const previous = await startChain()
  await upstream.forget()
  const count = (more: object = {}) =>
    ownClient.responses.inputTokens.count({ model: 'cl', input: 'Hi', ...more }).withResponse()
  const { data, response } = await count()
  t.match(data, { object: 'response.input_tokens', input_tokens: Number })
  t.equal(response.headers.get('x-tollgate-estimated'), 'true')
  const longer = await count({ previous_response_id: previous })
  t.ok(longer.data.input_tokens > data.input_tokens, 'with the history')
  t.same(await upstream.events('request', 'cl'), [], 'no model is called')
  await upstream.script('gp', plainReply({ error: { message: 'no such route' } }, '404 Not Found'))
  const fallback = await ownClient.responses.inputTokens.count({ model: 'gp', input: 'Hi' })
  t.equal(fallback.input_tokens, data.input_tokens)
})

t.test('input tokens: invalid requests are refused in the dialect of OpenAI', async t => {
  const count = (body: object) => ownClient.responses.inputTokens.count(body as never)
  await rejectsWith(t, count({ model: 'gp', input: 7 }), 400, { message: /input/ })
  await rejectsWith(t, count({ input: 'x' }), 400, { message: /model/ })
  await rejectsWith(t, count({ model: 'cl' }), 400, { message: /input/ })
  await rejectsWith(t, count({ model: 'nobody', input: 'x' }), 404, { message: /nobody/ })
  await rejectsWith(t, count({ model: 'gp', input: 'x', previous_response_id: 'resp_no' }), 400, {
    message: /resp_no/,
  })
})

t.test('compaction: the model writes a summary that other models can read', async t => {
  await upstream.script('cl', plainReply(messageBody('They asked about Paris.')))
  const compacted = await ownClient.responses.compact({
    model: 'cl',
    input,
    instructions: 'Short.',
  })
  t.match(compacted, {
    object: 'response.compaction',
    output: [
      { type: 'message', role: 'user', content: [{ text: 'Capital of France?' }] },
      { type: 'message', role: 'user', content: [{ text: 'And its river?' }] },
      { type: 'compaction', id: /^cmp_/, encrypted_content: String },
    ],
    usage: { input_tokens: Number, output_tokens: Number, total_tokens: Number },
  })
  const request = await sentBody('cl')
  t.match(JSON.stringify(request), /Capital of France.*Paris.*summary.*Short\./)
  const next = [...compacted.output, { role: 'user' as const, content: 'Is it long?' }]
  const order = /Capital of France.*And its river.*They asked about Paris\..*Is it long/
  await upstream.script('cl', plainReply(messageBody('Yes')))
  await ownClient.responses.create({ model: 'cl', input: next as never })
  t.match(JSON.stringify((await sentBody('cl')).messages), order)
  await upstream.script('gp', plainReply(responseBody('resp_long', 'Yes')))
  await ownClient.responses.create({ model: 'gp', input: next as never })
  const body = await sentBody('gp')
  t.match(JSON.stringify(body.input), order, 'an upstream of OpenAI gets the text')
  t.notMatch(JSON.stringify(body.input), /encrypted_content/)

  await upstream.script('cl', plainReply(messageBody('All about Paris.')))
  const again = await ownClient.responses.compact({ model: 'cl', input: next as never })
  t.match(JSON.stringify((await sentBody('cl')).messages), /They asked about Paris\./)
  const last = again.output.pop()
  t.match(last, { type: 'compaction' })
  t.match(JSON.stringify(again.output), /Capital of France.*And its river.*Is it long/)
  t.notMatch(JSON.stringify(again.output), /about Paris/, 'the new summary has the earlier one')
})

t.test('compaction: an upstream with the endpoint gets the request', async t => {
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'opaque' }
  const usage = { ...responseBody('x', 'y').usage, input_tokens: 5, output_tokens: 2 }
  const answer = {
    id: 'resp_c',
    object: 'response.compaction',
    created_at: 1,
    output: [item],
    usage,
  }
  await upstream.script('nc', plainReply(answer as never))
  const { data, request_id: id } = await ownClient.responses
    .compact({ model: 'nc', input })
    .withResponse()
  t.same(data, answer)
  t.match(await lastTarget('nc'), /\/v1\/responses\/compact$/)
  t.same(await sentBody('nc'), { model: 'gpt', input })
  const [charge] = await rows(`SELECT state, amount FROM charges WHERE request = '${id}'`)
  t.match(charge, { state: 'settled', amount: 7_000_000n })
  await upstream.script('nc', plainReply(responseBody('resp_next', 'Seine')))
  await ownClient.responses.create({ model: 'nc', input: [item, ...input] as never })
  t.match((await sentBody('nc')).input[0], item, 'its own item goes back to it')
})

t.test('compaction: a history that the gateway keeps is compacted by the model', async t => {
  const previous = await startChain()
  for (const model of ['cl', 'nc']) {
    const reply = model === 'cl' ? messageBody('Paris.') : responseBody('resp_s', 'Paris.')
    await upstream.script(model, plainReply(reply as never))
    const { output } = await ownClient.responses.compact({
      model: model as never,
      input: 'And its river?',
      previous_response_id: previous,
    })
    t.match(JSON.stringify(await sentBody(model)), /Capital of France.*Paris.*And its river/)
    t.match(output, [{ role: 'user' }, { role: 'user' }, { type: 'compaction' }], model)
    t.notMatch(await lastTarget(model), /compact/)
  }
  await rejectsWith(
    t,
    otherClient.responses.compact({ model: 'cl' as never, previous_response_id: previous }),
    400,
    { message: /resp_start/ },
  )
})

t.test('compaction: a repetition with its key is answered once', async t => {
  await upstream.script('cl', plainReply(messageBody('Once.')))
  const send = () =>
    ownClient.responses.compact(
      { model: 'cl' as never, input },
      { headers: { 'idempotency-key': 'compact-1' } },
    )
  const first = await send()
  await upstream.forget()
  t.same(await send(), first)
  t.same(await upstream.events('request', 'cl'), [])
})

t.test('compaction: what cannot be compacted is refused', async t => {
  const compact = (body: object) => ownClient.responses.compact(body as never)
  await rejectsWith(t, compact({ model: 'cl', input, stream: true }), 400, { message: /stream/ })
  await rejectsWith(t, compact({ model: 'cl' }), 400, { message: /input/ })
  await rejectsWith(t, compact({ model: 'cl', input: 7 }), 400, { message: /input/ })
  await upstream.script('cl', plainReply(messageBody(' ')))
  await rejectsWith(t, compact({ model: 'cl', input }), 502, { message: /no summary/ })
  await upstream.script(
    'cl',
    plainReply(
      { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } } as never,
      '429 Too Many Requests',
    ),
  )
  await rejectsWith(t, compact({ model: 'cl', input }), 429, { message: /slow/ })
})
