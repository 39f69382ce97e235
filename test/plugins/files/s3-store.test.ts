/** Files in a bucket, over a service that checks every signature and hash. */
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { fileStoreOf } from '../../../plugins/file-store/file-store.ts'
import { parseS3Address } from '../../../plugins/file-store/s3-store.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { BATCH, LINES, startFiles } from './files-gateway.ts'
import { startS3 } from './s3-server.ts'

const MIB = 2 ** 20

t.test('S3 store: a file is stored, read in ranges and removed', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings)
  const { status, json } = await gateway.upload(BATCH)
  t.equal(status, 200)
  t.same([...s3.objects.keys()], [`some/folder/${json.id}`])
  t.same(s3.requests, ['PUT some/folder/FILE'], 'a small file takes one request')
  const path = `/v1/files/${json.id}/content`
  t.equal(await (await gateway.call('GET', path)).text(), LINES)
  const range = await gateway.call('GET', path, { headers: { range: 'bytes=2-10' } })
  t.equal(await range.text(), LINES.slice(2, 11))
  await gateway.json('DELETE', `/v1/files/${json.id}`)
  t.equal(s3.objects.size, 0)
})

t.test('S3 store: a large file is sent in parts, and appears when it is complete', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings)
  const content = randomBytes(20 * MIB)
  const { json } = await gateway.upload({ purpose: 'assistants', file: ['a.txt', content] })
  t.equal(json.bytes, content.length)
  t.same(s3.requests, [
    'POST some/folder/FILE?uploads',
    ...Array.from({ length: 3 }, () => 'PUT some/folder/FILE?partNumber&uploadId'),
    'POST some/folder/FILE?uploadId',
  ])
  const response = await gateway.call('GET', `/v1/files/${json.id}/content`)
  const received = Buffer.from(await response.arrayBuffer())
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  t.equal(hashOf(received), hashOf(content))
  t.equal(s3.uploads.size, 0)
})

t.test('S3 store: a refused upload leaves nothing, whole or in parts', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, { ...s3.settings, sizes: { vision: '20MiB' } })
  const png = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    Buffer.alloc(20 * MIB - 7),
  ])
  for (const file of [
    ['a.png', png],
    ['a.png', 'x'],
  ] as const)
    t.not((await gateway.upload({ purpose: 'vision', file })).status, 200)
  t.ok(
    s3.requests.some(request => request.startsWith('DELETE')),
    'the parts are removed',
  )
  t.equal(s3.objects.size + s3.uploads.size, 0)
})

t.test('S3 store: an upload whose stage is ended while it is stored leaves nothing', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings, 'sqlite', { stage: '1s' })
  s3.delay.ms = 2_000
  t.equal((await gateway.upload(BATCH)).status, 500)
  s3.delay.ms = 0
  await eventually(async () => s3.requests.includes('DELETE some/folder/FILE') || undefined)
  t.same((await gateway.json('GET', '/v1/files')).json.data, [])
  await eventually(async () => s3.objects.size === 0 || undefined)
})

t.test('S3 store: retries failures of the service, and reports those that stay', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings)
  s3.failures.push(503, 500)
  t.equal((await gateway.upload(BATCH)).status, 200)
  s3.failures.push(503, 503, 503, 503)
  const { status, json } = await gateway.upload(BATCH)
  t.equal(status, 503)
  t.match(json, {
    error: { code: 'service_unavailable', message: /The file storage did not answer/ },
  })
  s3.failures.push(403)
  t.equal((await gateway.upload(BATCH)).status, 503)
  t.equal(s3.objects.size, 1)
  const [row] = await gateway.rows('SELECT id FROM stored_files')
  s3.failures.push(403)
  t.equal((await gateway.json('DELETE', `/v1/files/${row?.id}`)).status, 200)
  t.equal(s3.objects.size, 1, 'an orphan, which is removed later')
  const store = 's3://bucket?endpoint=http://127.0.0.1:1'
  const unreachable = await startFiles(t, { ...s3.settings, store })
  t.equal((await unreachable.upload(BATCH)).status, 503)
})

t.test('S3 store: orphans and unfinished uploads are removed, page by page', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings)
  const { json } = await gateway.upload(BATCH)
  const object = (modified: number) => ({ bytes: Buffer.from('orphan'), modified })
  for (let index = 0; index < 5; index++) s3.objects.set(`some/folder/file-${index}`, object(1))
  s3.objects.set('some/folder/file-new', object(Date.now()))
  s3.objects.set('elsewhere', object(1))
  const upload = (initiated: number) => ({ key: 'some/folder/file-x', parts: new Map(), initiated })
  s3.uploads.set('old', upload(1))
  s3.uploads.set('new', upload(Date.now() - 7_200_000))
  for (const each of s3.objects.values()) each.modified = Math.min(each.modified, Date.now())
  const removals = await fileStoreOf(gateway.host()).removeOrphans()
  t.match(removals, { unfinished: 1, orphans: 5, bytes: 30 })
  t.same([...s3.objects.keys()], [`some/folder/${json.id}`, 'some/folder/file-new', 'elsewhere'])
  t.same([...s3.uploads.keys()], ['new'])
})

t.test('S3 store: a file that is gone, and wrong keys, are errors of the operator', async t => {
  const s3 = await startS3(t)
  const gateway = await startFiles(t, s3.settings)
  const { json } = await gateway.upload(BATCH)
  s3.objects.clear()
  t.equal((await gateway.json('GET', `/v1/files/${json.id}/content`)).status, 500)
  const other = await startFiles(t, { ...s3.settings, secret_key: 'wrong' })
  t.equal((await other.upload(BATCH)).status, 503)
})

t.test('S3 store: addresses', t => {
  t.same(parseS3Address('s3://b', 'settings.files.store'), {
    bucket: 'https://s3.us-east-1.amazonaws.com/b',
    prefix: '',
    region: 'us-east-1',
  })
  t.same(
    parseS3Address('s3://b/x/y/?region=r&endpoint=http://10.0.0.1:9000/', 'settings.files.store'),
    {
      bucket: 'http://10.0.0.1:9000/b',
      prefix: 'x/y/',
      region: 'r',
    },
  )
  for (const text of ['s3:///x', 's3://b?key=x', 's3://b?endpoint=ftp://x', 's3://b?endpoint=x'])
    t.throws(() => parseS3Address(text, 'settings.files.store'), /settings\.files\.store/, text)
  t.end()
})
