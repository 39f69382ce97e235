/** Batches over the shipped configuration: the official SDK, prices, problems, cancels, kills. */
import OpenAI, { type APIError, toFile } from 'openai'
import t from 'tap'
import { plainAnswers } from '../helpers/formats/plain-answers.ts'
import { startTextUpstream } from '../helpers/gateway/chat-upstream.ts'
import { withOutput } from '../helpers/gateway/command-line.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { creditAdmin } from '../helpers/money/credit.ts'
import { workersOf } from '../helpers/process-tree.ts'

type Fields = { readonly [name: string]: unknown }

/** Answers chats with ten tokens in and five out; a prompt may ask for a status. */
const upstream = { prompts: [] as string[], delay: 0, busyFor: new Set<string>() }
const url = await startTextUpstream(t, (text, response) => {
  const { messages } = JSON.parse(text)
  const prompt = String(messages[0].content)
  upstream.prompts.push(prompt)
  const status = upstream.busyFor.delete(prompt) ? 503 : Number(/status (\d+)/.exec(prompt)?.[1])
  const body = status
    ? { error: { message: `refused with ${status}`, type: 'invalid_request_error' } }
    : plainAnswers('Good day.', 10, 5)['openai-chat']
  const answer = () =>
    response
      .writeHead(status || 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))
  setTimeout(answer, upstream.delay)
})
const gateway = await startGateway({
  env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'k' },
})
t.teardown(() => gateway.stop())
const key = await gateway.key()
await creditAdmin(gateway.data)
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })

const CHAT = '/v1/chat/completions'
const lineOf = (id: string, content: string, more: object = {}): Fields => ({
  custom_id: id,
  method: 'POST',
  url: CHAT,
  body: { model: 'gp-4.1', messages: [{ role: 'user', content }], max_tokens: 50 },
  ...more,
})
const upload = async (lines: readonly unknown[]): Promise<string> => {
  const text = lines.map(line => `${JSON.stringify(line)}\n`).join('')
  const file = await toFile(Buffer.from(text), 'in.jsonl')
  return (await client.files.create({ file, purpose: 'batch' })).id
}
const start = async (lines: readonly unknown[]) =>
  client.batches.create({
    input_file_id: await upload(lines),
    endpoint: CHAT,
    completion_window: '24h',
    metadata: { order: '7' },
  })
const ENDED = ['completed', 'failed', 'cancelled', 'expired']
const endOf = (id: string) =>
  eventually(async () => {
    const batch = await client.batches.retrieve(id)
    return ENDED.includes(batch.status) ? batch : undefined
  })
const linesOf = async (file: string | null | undefined): Promise<readonly Fields[]> => {
  const text = await (await client.files.content(String(file))).text()
  return text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}
const receiptOf = async (request: string): Promise<Fields> => {
  const response = await fetch(`${gateway.url}/api/usage/${request}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return ((await response.json()) as { data: Fields }).data
}
const refusalOf = async (call: Promise<unknown>): Promise<Fields> => {
  const error = await call.then(
    () => undefined,
    reason => reason as APIError,
  )
  return { status: error?.status, param: error?.param, message: error?.message, code: error?.code }
}

t.test('batch: every line is answered and charged half, in order', async t => {
  upstream.busyFor.add('two')
  const created = await start([
    lineOf('a', 'one'),
    lineOf('b', 'two'),
    lineOf('c', 'status 400'),
    lineOf('d', 'x', { body: { model: 'no-such-model', messages: [] } }),
  ])
  t.match(created, {
    object: 'batch',
    endpoint: CHAT,
    status: 'validating',
    completion_window: '24h',
    output_file_id: null,
    metadata: { order: '7' },
    expires_at: created.created_at + 86_400,
  })
  const batch = await endOf(created.id)
  t.match(batch, {
    status: 'completed',
    request_counts: { total: 4, completed: 2, failed: 2 },
    in_progress_at: Number,
    finalizing_at: Number,
    completed_at: Number,
  })
  const [one, two] = (await linesOf(batch.output_file_id)) as readonly {
    readonly custom_id: string
    readonly response: { readonly request_id: string; readonly body: Fields }
  }[]
  t.match(one, {
    id: /^batch_req_/,
    custom_id: 'a',
    error: null,
    response: { status_code: 200, body: { choices: [{ message: { content: 'Good day.' } }] } },
  })
  t.match(two?.custom_id, 'b', 'a busy upstream is asked again')
  const failures = await linesOf(batch.error_file_id)
  t.match(failures, [
    { custom_id: 'c', response: { status_code: 400, body: { error: { message: String } } } },
    { custom_id: 'd', response: { status_code: Number, body: { error: { type: String } } } },
  ])
  const plain = await client.chat.completions
    .create({ model: 'gp-4.1', messages: [{ role: 'user', content: 'one' }], max_tokens: 50 })
    .asResponse()
  const price = Number(plain.headers.get('x-tollgate-charge'))
  const charge = Number((await receiptOf(String(one?.response.request_id))).cost)
  t.ok(price > 0 && Math.abs(charge * 2 - price) < 1e-8, `${charge} is half of ${price}`)
  const files = await client.files.list({ purpose: 'batch_output' })
  t.equal(files.data.length, 2)
  t.match(await client.files.retrieve(String(batch.output_file_id)), { purpose: 'batch_output' })
})

t.test('batch: of legacy completions', async t => {
  const url = '/v1/completions'
  const body = { model: 'cl-haiku-4-5', prompt: 'one', max_tokens: 50 }
  const { id } = await client.batches.create({
    input_file_id: await upload([{ custom_id: 'a', method: 'POST', url, body }]),
    endpoint: url,
    completion_window: '24h',
  })
  const batch = await endOf(id)
  t.match(await linesOf(batch.output_file_id), [
    { response: { status_code: 200, body: { choices: [{ text: /sandbox/ }] } } },
  ])
})

t.test('batch: a file with problems fails as a whole, with all of them', async t => {
  const { id } = await start([
    lineOf('a', 'one'),
    lineOf('a', 'two'),
    lineOf('a\u0000b', 'three', { method: 'GET', url: '/v1/embeddings' }),
    lineOf('d', 'four', { body: [] }),
    lineOf('e', 'five', { body: { stream: true } }),
  ])
  const batch = await endOf(id)
  t.match(batch, { status: 'failed', failed_at: Number, output_file_id: null })
  t.same(
    batch.errors?.data?.map(({ code, line, param }) => [line, code, param]),
    [
      [2, 'duplicate_custom_id', 'custom_id'],
      [3, 'invalid_custom_id', 'custom_id'],
      [3, 'invalid_method', 'method'],
      [3, 'mismatched_endpoint', 'url'],
      [4, 'missing_body', 'body'],
      [5, 'stream_not_supported', 'body.stream'],
    ],
  )
})

t.test('batch: wrong creates are refused in the words of OpenAI', async t => {
  const file = await upload([lineOf('a', 'one')])
  const create = (more: object) =>
    refusalOf(
      client.batches.create({
        input_file_id: file,
        endpoint: CHAT,
        completion_window: '24h',
        ...more,
      } as never),
    )
  t.match(await create({ input_file_id: 'file-x' }), {
    status: 404,
    param: 'input_file_id',
    message: /No such File/,
  })
  t.match(await create({ endpoint: '/v1/audio/speech' }), {
    status: 400,
    param: 'endpoint',
    code: 'invalid_value',
  })
  t.match(await create({ completion_window: '1h' }), { status: 400, param: 'completion_window' })
  t.match(await create({ metadata: { a: 1 } }), { status: 400 })
  t.match(await create({ input_file_id: undefined }), { status: 400, param: 'input_file_id' })
  const other = await client.files.create({
    file: await toFile(Buffer.from('{}'), 'a.jsonl'),
    purpose: 'fine-tune',
  })
  t.match(await create({ input_file_id: other.id }), { status: 400, code: 'invalid_purpose' })
  t.match(await refusalOf(client.batches.retrieve('batch_x')), { status: 404, param: 'batch_id' })
  t.match(await refusalOf(client.batches.list({ limit: 101 })), { status: 400, param: 'limit' })
  const upload2 = toFile(Buffer.from('{}'), 'a.jsonl').then(named =>
    client.files.create({ file: named, purpose: 'batch_output' as never }),
  )
  t.match(await refusalOf(upload2), { status: 400, param: 'purpose' })
})

t.test('batch: a cancelled one sends no further lines and keeps its results', async t => {
  upstream.delay = 300
  t.teardown(() => {
    upstream.delay = 0
  })
  const lines = Array.from({ length: 60 }, (_, at) => lineOf(`c${at}`, `cancel ${at}`))
  const { id } = await start(lines)
  await eventually(async () =>
    (await client.batches.retrieve(id)).request_counts?.completed ? true : undefined,
  )
  t.equal((await client.batches.cancel(id)).status, 'cancelling')
  const batch = await endOf(id)
  const { total, completed = 0 } = batch.request_counts ?? {}
  t.match(batch, { status: 'cancelled', cancelling_at: Number, cancelled_at: Number })
  t.ok(total === 60 && completed > 0 && completed < 60, `${completed} of ${total}`)
  t.equal((await linesOf(batch.output_file_id)).length, completed)
  t.match(await refusalOf(client.batches.cancel(id)), { status: 409 })
})

t.test('batch: they are listed by page, newest first', async t => {
  const all: string[] = []
  for await (const batch of client.batches.list({ limit: 2 })) all.push(batch.id)
  const { data, has_more } = await client.batches.list({ limit: 2 })
  t.equal(data.length, 2)
  t.ok(has_more && all.length > 2 && new Set(all).size === all.length)
})

t.test('batch: workers that are killed lose no line and charge none twice', async t => {
  upstream.delay = 150
  upstream.prompts.length = 0
  const count = 60
  const { id } = await start(
    Array.from({ length: count }, (_, at) => lineOf(`k${at}`, `kill ${at}`)),
  )
  for (const least of [5, 25]) {
    await eventually(async () => {
      const latest = await client.batches.retrieve(id).catch(() => undefined)
      return Number(latest?.request_counts?.completed) >= least ? true : undefined
    })
    for (const pid of workersOf(gateway.pid)) process.kill(pid, 'SIGKILL')
  }
  const batch = await eventually(async () => {
    const latest = await client.batches.retrieve(id).catch(() => undefined)
    return latest && ENDED.includes(latest.status) ? latest : undefined
  })
  t.match(batch, { status: 'completed', request_counts: { total: count, completed: count } })
  const outcomes = (await linesOf(batch.output_file_id)) as readonly {
    readonly custom_id: string
    readonly response: { readonly request_id: string }
  }[]
  t.same(
    outcomes.map(each => each.custom_id),
    Array.from({ length: count }, (_, at) => `k${at}`),
  )
  const env = { TOLLGATE_DATA: gateway.data }
  const ledger = await withOutput(t, ['export', 'ledger', '--jsonl'], env)
  const charged = ledger.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string; request: string })
    .filter(({ kind, request }) => kind === 'charge' && request.includes(id.replace('batch_', '')))
    .map(({ request }) => request)
  const expected = outcomes.map(each => each.response.request_id)
  t.same(charged.toSorted(), expected.toSorted())
})
