/** Batches of messages over the shipped configuration, by the official SDK: results of each kind,
 *  pages, cancels, deletes, prices, and what is refused. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic, { type APIError } from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'

/** Answers messages with ten tokens in and five out; a prompt may ask for a status, or to wait
 *  until the test lets it go on. */
const headers: IncomingHttpHeaders[] = []
let letGo: () => void = () => undefined
const gate = new Promise<void>(resolve => {
  letGo = resolve
})
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  headers.push(request.headers)
  const prompt = String(JSON.parse(Buffer.concat(chunks).toString()).messages[0].content)
  const status = Number(/status (\d+)/.exec(prompt)?.[1] ?? 200)
  if (prompt === 'wait') await gate
  const error = { type: 'invalid_request_error', message: `refused with ${status}` }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [{ type: 'text', text: `You said ${prompt}.` }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  }
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify(status === 200 ? message : { type: 'error', error }))
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo
const gateway = await startGateway({
  env: {
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    ANTHROPIC_API_KEY: 'k',
  },
})
t.teardown(() => gateway.stop())
t.teardown(() => letGo())
const apiKey = await gateway.key()
await creditAdmin(gateway.data)
const client = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })
const { batches } = client.messages

const model = 'cl-sonnet-4-5'
const requestOf = (custom_id: string, content: string, more: object = {}) => ({
  custom_id,
  params: { model, max_tokens: 50, messages: [{ role: 'user' as const, content }], ...more },
})
const endOf = (id: string) =>
  eventually(async () => {
    const batch = await batches.retrieve(id)
    return batch.processing_status === 'ended' ? batch : undefined
  })
const resultsOf = async (id: string) => {
  const results = new Map<string, Anthropic.Messages.MessageBatchResult>()
  for await (const { custom_id, result } of await batches.results(id))
    results.set(custom_id, result)
  return results
}
const failure = (call: PromiseLike<unknown>): Promise<APIError> =>
  Promise.resolve(call).then(
    () => Promise.reject(new Error('it did not fail')),
    error => error as APIError,
  )

t.test('message batch: each request has a result, and is charged half', async t => {
  const created = await batches.create(
    {
      requests: [
        requestOf('one', 'one'),
        requestOf('two', 'status 400'),
        requestOf('three', 'x', { model: 'no-such-model' }),
        requestOf('four', 'x', { messages: 7 }),
        {
          ...requestOf('five', 'other format'),
          params: { ...requestOf('', 'x').params, model: 'gp-4.1' },
        },
      ],
    },
    { headers: { 'anthropic-beta': 'new-thing' } },
  )
  t.match(created, {
    id: /^msgbatch_/,
    type: 'message_batch',
    processing_status: 'in_progress',
    request_counts: { processing: 5, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    ended_at: null,
    results_url: null,
  })
  t.equal(Date.parse(created.expires_at) - Date.parse(created.created_at), 86_400_000)
  const batch = await endOf(created.id)
  t.match(batch, {
    request_counts: { processing: 0, succeeded: 2, errored: 3, canceled: 0, expired: 0 },
    ended_at: /^\d{4}-.*Z$/,
    results_url: new RegExp(`/v1/messages/batches/${created.id}/results$`),
  })
  const results = await resultsOf(created.id)
  t.same([...results.keys()].sort(), ['five', 'four', 'one', 'three', 'two'])
  t.match(results.get('one'), {
    type: 'succeeded',
    message: {
      type: 'message',
      model,
      content: [{ type: 'text', text: 'You said one.' }],
      usage: { input_tokens: 10 },
    },
  })
  t.match(results.get('five'), { type: 'succeeded', message: { model: 'gp-4.1' } })
  for (const [id, type] of [
    ['two', 'invalid_request_error'],
    ['three', 'not_found_error'],
    ['four', 'invalid_request_error'],
  ] as const)
    t.match(results.get(id), {
      type: 'errored',
      error: { type: 'error', error: { type, message: String } },
    })
  t.match(headers, [{ 'anthropic-beta': 'new-thing', 'anthropic-version': /^20/ }])
  // A line is sent again if its process was slow to renew its lease.
  const ids = headers.flatMap(each => String(each['x-request-id']).match(/^.*_1_\d+$/) ?? [])
  const line = ids.at(-1)
  const plain = await client.messages.create(requestOf('', 'one').params).asResponse()
  const price = Number(plain.headers.get('x-tollgate-charge'))
  const response = await fetch(`${gateway.url}/api/usage/${line}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  const { data } = (await response.json()) as { readonly data: { readonly cost: unknown } }
  const charge = Number(data.cost)
  t.ok(price > 0 && Math.abs(charge * 2 - price) < 1e-8, `${charge} is half of ${price}`)
})

t.test('message batch: pages in both directions; the batches of files are apart', async t => {
  const ids: string[] = []
  for (const name of ['a', 'b', 'c'])
    ids.unshift((await batches.create({ requests: [requestOf(name, name)] })).id)
  const listed: string[] = []
  for await (const { id } of batches.list({ limit: 2 })) listed.push(id)
  t.same(listed.slice(0, 3), ids)
  const before = await batches.list({ before_id: ids[2] as string, limit: 1 })
  t.same([before.data.map(({ id }) => id), before.has_more], [[ids[1]], true])
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  t.same((await openai.batches.list()).data, [])
  t.match(await failure(openai.batches.retrieve((ids[0] ?? '').slice(3))), { status: 404 })
  for (const query of [{ limit: 0 }, { limit: 1001 }, { limit: 'x' }] as never[])
    t.match(await failure(batches.list(query)), { status: 400 })
  const unknown = { status: 404, message: /'msgbatch_no'/ }
  t.match(await failure(batches.list({ after_id: 'msgbatch_no' })), unknown)
  t.match(await failure(batches.retrieve('msgbatch_no')), unknown)
  await Promise.all(ids.map(endOf))
})

t.test('message batch: a repetition with its key makes one', async t => {
  const send = () =>
    batches.create({ requests: [requestOf('k', 'k')] }, { headers: { 'idempotency-key': 'one' } })
  const [first, second] = [await send(), await send()]
  t.equal(first.id, second.id)
  await endOf(first.id)
})

t.test('message batch: a cancel keeps back what has not begun', async t => {
  const requests = Array.from({ length: 200 }, (_, index) => requestOf(`r${index}`, 'wait'))
  const { id } = await batches.create({ requests })
  await eventually(async () => (headers.length > 10 ? true : undefined))
  t.match(await failure(batches.results(id)), { message: /results/ }, 'before its end')
  t.match(await failure(batches.delete(id)), { status: 400 })
  const canceled = await batches.cancel(id)
  t.match(canceled, { processing_status: 'canceling', cancel_initiated_at: String })
  letGo()
  const { request_counts: counts } = await endOf(id)
  t.equal(counts.succeeded + counts.canceled, 200)
  t.ok(counts.canceled > 0)
  const results = [...(await resultsOf(id)).values()]
  t.equal(results.length, 200)
  t.equal(results.filter(({ type }) => type === 'canceled').length, counts.canceled)
  t.match(await failure(batches.cancel(id)), { status: 409 })
  t.match(await batches.delete(id), { id, type: 'message_batch_deleted' })
  t.match(await failure(batches.retrieve(id)), { status: 404, error: { type: 'error' } })
  const files = await new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey }).files.list()
  t.notOk(
    files.data.some(({ filename }) => filename.includes(id.slice(3))),
    'its files are gone',
  )
})

const REFUSED: readonly (readonly [body: unknown, message: RegExp])[] = [
  [{}, /requests/],
  [{ requests: [] }, /requests/],
  [{ requests: 'x' }, /requests/],
  [{ requests: [{ custom_id: 'a' }] }, /params/],
  [{ requests: [{ custom_id: 'a b', params: { model } }] }, /custom_id/],
  [{ requests: [{ custom_id: 'a', params: {} }] }, /model/],
  [{ requests: [requestOf('a', 'x', { stream: true })] }, /stream/],
  [{ requests: [requestOf('a', 'x'), requestOf('a', 'y')] }, /'a' occurs more than once/],
]
t.test('message batch: wrong creates are refused in the dialect of Anthropic', async t => {
  for (const [body, message] of REFUSED)
    t.match(
      await failure(batches.create(body as never)),
      { status: 400, message, error: { type: 'error', error: { type: 'invalid_request_error' } } },
      JSON.stringify(body),
    )
})
