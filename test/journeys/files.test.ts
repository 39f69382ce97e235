/** Files over a whole gateway: the official SDK, uploads larger than memory, and broken ones. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import OpenAI, { APIError, toFile } from 'openai'
import t from 'tap'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { rawClient, replies } from '../helpers/gateway/raw-client.ts'
import { growthDuring } from '../helpers/process-tree.ts'
import { createChance, shortOrLong } from '../helpers/run-settings.ts'

const MIB = 2 ** 20
const UPLOADS = shortOrLong(2, 8)
const SIZE = shortOrLong(32, 200) * MIB

const gateway = await startGateway({
  settings: `
files: { sizes: { assistants: 200MiB, vision: 20MiB, batch: 1MiB } }`,
  routes: `
pipeline: [errors, auth, files]
routes:
  - { path: POST /v1/files, files: upload, body: { limit: 2GiB } }
  - { path: GET /v1/files, files: list }
  - { path: 'GET /v1/files/{file_id}', files: show }
  - { path: 'DELETE /v1/files/{file_id}', files: delete }
  - { path: 'GET /v1/files/{file_id}/content', files: content }
`,
})
t.teardown(() => gateway.stop())
const key = await gateway.key()
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })

/** Names of the files in the store, with those that are being written. */
const storedFiles = (): readonly string[] =>
  readdirSync(`${gateway.data}/files`, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)

/** Process ids of the workers that serve. */
const workers = async (): Promise<readonly number[]> => {
  const response = await gateway.askAdmin('/-/config')
  const config = (await response.json()) as {
    readonly workers: readonly { readonly pid: number; readonly state: string }[]
  }
  return config.workers.filter(({ state }) => state === 'serving').map(({ pid }) => pid)
}

t.test('files: the official SDK creates, lists, retrieves, downloads and deletes them', async t => {
  const lines = '{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{}}\n'
  const created = await client.files.create({
    file: await toFile(Buffer.from(lines), 'input.jsonl'),
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 3_600 },
  })
  t.match(created, {
    object: 'file',
    purpose: 'batch',
    filename: 'input.jsonl',
    bytes: lines.length,
  })
  t.equal(created.expires_at, created.created_at + 3_600)
  const others = [
    await client.files.create({
      purpose: 'fine-tune',
      file: await toFile(Buffer.from('{}'), 'a.jsonl'),
    }),
    await client.files.create({
      purpose: 'assistants',
      file: await toFile(Buffer.from('x'), 'a.txt'),
    }),
  ]
  const ids: string[] = []
  for await (const file of client.files.list({ limit: 1, order: 'asc' })) ids.push(file.id)
  t.same(ids.toSorted(), [created, ...others].map(({ id }) => id).toSorted())
  t.same((await client.files.list({ purpose: 'batch' })).data, [created])
  t.same(await client.files.retrieve(created.id), created)
  t.equal(await (await client.files.content(created.id)).text(), lines)
  t.equal((await client.files.waitForProcessing(created.id)).status, 'processed')
  for (const { id } of [created, ...others])
    t.same(await client.files.delete(id), { id, object: 'file', deleted: true })
  t.same(storedFiles(), [])
  const error = await client.files.retrieve(created.id).catch(reason => reason)
  t.ok(error instanceof APIError)
  t.match(error, { status: 404, param: 'id', type: 'invalid_request_error' })
  const text = await toFile(Buffer.from('x'), 'a.txt')
  const refusal = await client.files
    .create({ purpose: 'evals', file: text })
    .catch(reason => reason)
  t.match(refusal, { status: 400, param: 'purpose' })
})

const PART = Buffer.from(Array.from({ length: 64 * 1024 }, (_, n) => (n * 7) % 251))
const field = (name: string, value: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string): string =>
  `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n`
const END = '\r\n--b--\r\n'

/** Uploads SIZE bytes, generated as they are sent, and downloads them again. */
const roundTrip = async () => {
  const hash = createHash('sha256')
  function* body(): Generator<Buffer> {
    yield Buffer.from(field('purpose', 'assistants') + file('a.txt'))
    for (let offset = 0; offset < SIZE; offset += PART.length) {
      hash.update(PART)
      yield PART
    }
    yield Buffer.from(END)
  }
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    body: ReadableStream.from(body()),
    duplex: 'half',
  } as unknown as RequestInit)
  const answer = await response.text()
  if (!response.ok) throw new Error(answer)
  const { id, bytes } = JSON.parse(answer) as { id: string; bytes: number }
  const received = createHash('sha256')
  const content = await fetch(`${gateway.url}/v1/files/${id}/content`, { headers })
  for await (const chunk of content.body ?? []) received.update(chunk)
  await client.files.delete(id)
  return { bytes, sent: hash.digest('hex'), received: received.digest('hex') }
}

t.test(
  `files: ${UPLOADS} uploads of ${SIZE / MIB} MiB at once take bounded memory`,
  { timeout: 600_000 },
  async t => {
    await roundTrip() // warms up the heap
    const results: Awaited<ReturnType<typeof roundTrip>>[] = []
    const growth = await growthDuring(gateway.pid, async () => {
      results.push(...(await Promise.all(Array.from({ length: UPLOADS }, roundTrip))))
    })
    for (const { bytes, sent: uploadedBytes, received } of results) {
      t.equal(bytes, SIZE)
      t.equal(received, uploadedBytes, 'every byte arrived')
    }
    // Mostly the young generation of the worker, which does not grow with the uploads.
    t.ok(growth <= 64 * MIB, `they took ${(growth / MIB).toFixed(1)} MiB`)
  },
)

const HEAD = `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\n`

t.test('files: an upload that breaks off at any byte leaves nothing', async t => {
  const chance = createChance()
  const start = field('purpose', 'batch') + file('b.jsonl')
  // The second is longer than one write of the store.
  for (const [lines, cuts] of [
    [64, 16],
    [120_000, 8],
  ] as const) {
    const body = Buffer.from(`${start}${'{"a":1}\n'.repeat(lines)}${END}`)
    for (let count = 0; count < cuts; count++) {
      const connection = await rawClient(gateway)
      await connection.send(`${HEAD}Content-Length: ${body.length}\r\n\r\n`)
      await connection.send(body.subarray(0, Math.floor(chance() * body.length)))
      connection.reset()
    }
  }
  t.same((await client.files.list()).data, [], 'answered after the connections before it')
  t.ok(await eventually(async () => storedFiles().length === 0 || undefined))
})

t.test('files: a killed worker leaves nothing of its uploads', async t => {
  const body = Buffer.from(`${field('purpose', 'assistants')}${file('a.txt')}`)
  for (const length of [body.length, body.length + 100_000, body.length + 2 * MIB]) {
    const connection = await rawClient(gateway)
    await connection.send(`${HEAD}Content-Length: ${10 * MIB}\r\n\r\n`)
    await connection.send(Buffer.concat([body, Buffer.alloc(length - body.length)]))
    await eventually(async () => storedFiles().length > 0 || undefined)
    for (const pid of await workers()) process.kill(pid, 'SIGKILL')
    await connection.closed
    await eventually(async () => storedFiles().length === 0 || undefined)
  }
  const { data } = await eventually(() => client.files.list().catch(() => undefined))
  t.same(data, [])
})

t.test('files: reading stops at the limit', async t => {
  const connection = await rawClient(gateway)
  await connection.send(`${HEAD}Content-Length: ${100 * MIB}\r\n\r\n${field('purpose', 'vision')}`)
  await connection.send(file('a.png'))
  await connection.send(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  await connection.send(Buffer.alloc(20 * MIB - 8))
  t.equal(connection.text(), '', 'the limit itself is not refused')
  await connection.send('x')
  await connection.until('file_too_large')
  t.match(replies(connection.text())[0], {
    status: 413,
    body: /File is too large\. The limit is 20971520 bytes\./,
  })
  connection.close()
  const refused = await rawClient(gateway)
  await refused.send(`${HEAD}Content-Length: ${2 ** 40}\r\n\r\n`)
  await refused.until('file_too_large')
  t.equal(replies(refused.text())[0]?.status, 413, 'a terabyte is refused by its length')
  refused.close()
  t.same(storedFiles(), [])
})

t.test('files: attacks on forms are refused', async t => {
  const post = async (boundary: string, body: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
      },
      body,
    })
    await response.body?.cancel()
    return response.status
  }
  const start = field('purpose', 'batch') + file('b.jsonl')
  const of70 = 'b'.repeat(70)
  const form = `${start}{}${END}`
  t.equal(await post(of70, form.replaceAll('--b', `--${of70}`)), 200, 'a boundary of 70 bytes')
  for (const { id } of (await client.files.list()).data) await client.files.delete(id)
  for (const size of [71, 252]) {
    const boundary = 'b'.repeat(size)
    const body = form.replaceAll('--b', `--${boundary}`)
    t.equal(await post(boundary, body), 400, `a boundary of ${size} bytes`)
  }
  t.equal(await post('b', field('a', '').repeat(100_000) + END), 400, '100,000 parts')
  t.equal(await post('b', `${start}{}\n`), 400, 'no end')
  t.equal(await post('b', `${start}{}${END}${'x'.repeat(2 * MIB)}`), 400, 'a long epilogue')
  t.equal(await post('b', field('a"\r\nx: "y', '') + start), 400, 'a line end in a name')
  const named = (name: string): string => `${field('purpose', 'batch')}${file(name)}{}${END}`
  t.equal(await post('b', named('a\r\nx: y.jsonl')), 400, 'a line end in a file name')
  t.equal(await post('b', named('a%0D%0Ax: y.jsonl')), 200, 'an encoded line end in a file name')
  t.equal(await post('b', named('../../__proto__.jsonl')), 200, 'a file name with a path')
  const files = (await client.files.list({ order: 'asc' })).data
  t.same(files.map(({ filename }) => filename).toSorted(), ['__proto__.jsonl', 'ax: y.jsonl'])
  for (const { id } of files)
    t.match((await client.files.content(id)).headers.get('content-disposition'), /^attachment; /)
  t.equal(await post('b', `${field('__proto__', 'x')}${start}{}${END}`), 200, '__proto__')
  t.equal(await post('b', start.repeat(2) + END), 400, 'two files')
  for (const { id } of (await client.files.list()).data) await client.files.delete(id)
  t.same(storedFiles(), [])
})
