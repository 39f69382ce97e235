/** Files that arrive in parts, over the shipped configuration and by the official SDK: the whole is
 *  a file like any other, and what does not fit is refused. */
import { createHash } from 'node:crypto'
import OpenAI, { type APIError, toFile } from 'openai'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'

const gateway = await startGateway()
t.teardown(() => gateway.stop())
const client = new OpenAI({
  baseURL: `${gateway.url}/v1`,
  apiKey: await gateway.key(),
  maxRetries: 0,
})
const { uploads } = client

const create = (bytes: number, more: object = {}) =>
  uploads.create({
    bytes,
    filename: 'a.txt',
    mime_type: 'text/plain',
    purpose: 'user_data',
    ...more,
  } as OpenAI.UploadCreateParams)
const addPart = async (upload: string, text: string) =>
  uploads.parts.create(upload, { data: await toFile(Buffer.from(text), 'part') })
const failure = (call: PromiseLike<unknown>): Promise<APIError> =>
  Promise.resolve(call).then(
    () => Promise.reject(new Error('it did not fail')),
    error => error as APIError,
  )

t.test('upload in parts: becomes a file, in the order of the request', async t => {
  const upload = await create(10)
  t.match(upload, {
    id: /^upload_/,
    object: 'upload',
    status: 'pending',
    bytes: 10,
    filename: 'a.txt',
    purpose: 'user_data',
    expires_at: upload.created_at + 3_600,
    file: null,
  })
  const [last, first] = [await addPart(upload.id, 'world'), await addPart(upload.id, 'Hello')]
  t.match(first, { id: /^part_/, object: 'upload.part', upload_id: upload.id })
  t.same((await client.files.list()).data, [], 'parts are in no list')
  const md5 = createHash('md5').update('Helloworld').digest('hex')
  const completed = await uploads.complete(upload.id, { part_ids: [first.id, last.id], md5 })
  t.match(completed, {
    status: 'completed',
    file: { id: /^file-/, bytes: 10, filename: 'a.txt', purpose: 'user_data' },
  })
  const { id = '' } = completed.file ?? {}
  t.equal(await (await client.files.content(id)).text(), 'Helloworld')
  t.match((await client.files.list()).data, [{ id }])
  for (const call of [failure(addPart(upload.id, 'x')), failure(uploads.cancel(upload.id))])
    t.match(await call, { status: 400, message: /'completed'/ })
})

t.test('upload in parts: a cancelled one takes no more', async t => {
  const { id } = await create(5)
  const part = await addPart(id, 'Hello')
  t.match(await uploads.cancel(id), { id, status: 'cancelled' })
  for (const call of [
    failure(addPart(id, 'x')),
    failure(uploads.complete(id, { part_ids: [part.id] })),
  ])
    t.match(await call, { status: 400, message: /'cancelled'/ })
})

t.test('upload in parts: a repetition with its key is answered once', async t => {
  const headers = { 'idempotency-key': 'upload-1' }
  const body = {
    bytes: 5,
    filename: 'a.txt',
    mime_type: 'text/plain',
    purpose: 'user_data',
  } as const
  const [first, second] = [
    await uploads.create(body, { headers }),
    await uploads.create(body, { headers }),
  ]
  t.equal(first.id, second.id)
})

t.test('upload in parts: what does not fit is refused', async t => {
  const { id } = await create(10)
  const { id: other } = await create(5)
  const part = await addPart(id, 'Hello')
  const complete = (part_ids: unknown, more: object = {}) =>
    failure(uploads.complete(id, { part_ids, ...more } as never))
  t.match(await complete([part.id]), { status: 400, message: /5 bytes.*for 10/ })
  t.match(await complete([part.id, part.id], { md5: '0'.repeat(32) }), {
    status: 400,
    param: 'md5',
  })
  t.match(await complete([]), { status: 400 })
  t.match(await complete('x'), { status: 400 })
  for (const unknown of ['part_x', `part_${other}`, part.id.slice(5)])
    t.match(await complete([part.id, unknown]), { status: 400, param: 'part_ids' }, unknown)
  t.match(await failure(uploads.complete(other, { part_ids: [part.id] })), { param: 'part_ids' })
  for (const body of [
    { bytes: 0 },
    { bytes: 'x' },
    { purpose: 'nothing' },
    { purpose: 'batch' },
    { filename: 'a.exe' },
    { filename: '' },
    { expires_after: { anchor: 'x', seconds: 3600 } },
  ])
    t.match(await failure(create(10, body)), { status: 400 }, JSON.stringify(body))
  t.match(await failure(create(2 ** 40)), { status: 413 })
  t.match(await failure(uploads.cancel('upload_none')), { status: 404, message: /No such Upload/ })
  const post = (form: FormData | string) =>
    fetch(`${gateway.url}/v1/uploads/${id}/parts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.apiKey}` },
      body: form,
    })
  const form = new FormData()
  form.set('file', new Blob(['x']), 'a')
  for (const [body, status] of [
    [form, 400],
    [new FormData(), 400],
    ['x', 415],
  ] as const) {
    const response = await post(body)
    t.match([response.status, await response.json()], [status, { error: { message: String } }])
  }
})

t.test('upload in parts: the content is checked as that of a file', async t => {
  const text = '{"a":1}\nno json\n'
  const { id } = await create(text.length, { purpose: 'batch', filename: 'a.jsonl' })
  const part = await addPart(id, text)
  t.match(await failure(uploads.complete(id, { part_ids: [part.id] })), {
    status: 400,
    code: 'invalid_jsonl',
  })
})
