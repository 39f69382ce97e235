/** A result is copied while processes are killed with -9: the copy completes, the customer reads
 *  equal bytes, and the task is charged once. */
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { sql } from '../../helpers/store/store.ts'
import { startVideoGateway } from './video-gateway.ts'

const CLIP = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom', 'latin1'), randomBytes(2_000_000)])
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

t.test('task copies: complete after a worker and the whole gateway were killed', async t => {
  /** Downloads that have sent half of the clip. */
  const downloads: ServerResponse[] = []
  const upstream: string = await startHttpUpstream(t, (request, response) => {
    if (request.url !== '/clip') {
      const creations = [{ id: '1', url: `${upstream}/clip` }]
      return void response.end(JSON.stringify({ task_id: 'up', state: 'success', creations }))
    }
    downloads.push(response.writeHead(200, { 'content-length': CLIP.length }))
    response.write(CLIP.subarray(0, 1_000_000))
  })
  const untilDownload = (count: number) => eventually(() => downloads.length === count)
  const first = await startVideoGateway(t, upstream)
  const { task_id: id } = await first.call('/text2video', { model: 'clip', duration: 5 })
  await untilDownload(1)
  const [worker] = (await first.primary.config()).workers
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await untilDownload(2)
  first.primary.child.kill('SIGKILL')
  await first.primary.allExited()
  rmSync(join(first.dataFolder, 'run.json')) // has the address of the killed one
  const second = await first.startAgain()
  await untilDownload(3)
  t.match(await second.call(`/tasks/${id}/creations`), { state: 'processing', creations: [] })
  downloads[2]?.end(CLIP.subarray(1_000_000))
  const done = await eventually(async () => {
    const json = await second.call(`/tasks/${id}/creations?wait=5`)
    return json.state === 'success' && json
  })
  const { url = '' } = done.creations?.[0] ?? {}
  t.ok(url.startsWith(`${second.primary.url}/files/file-`))
  const response = await fetch(url)
  t.equal(response.headers.get('content-type'), 'video/mp4')
  t.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hashOf(CLIP))
  const database = await openDatabase({ url: 'sqlite:', data: first.dataFolder })
  const rows = (text: string) => database.read(sql(text, text), [])
  t.match(await rows('SELECT state, amount FROM charges'), [{ state: 'settled' }])
  t.equal((await rows('SELECT id FROM stored_files')).length, 1)
  t.same(await audit(database), [])
  await database.close()
})

t.test('tasks: a query that waits is answered when the gateway shuts down', async t => {
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.end(JSON.stringify({ task_id: 'up', state: 'processing' }))
  })
  const { primary, call } = await startVideoGateway(t, upstream)
  const { task_id: id } = await call('/text2video', { model: 'clip', duration: 5 })
  await eventually(async () => (await call(`/tasks/${id}/creations`)).state === 'processing')
  const query = call(`/tasks/${id}/creations?wait=60`)
  // A later request was answered, so this one was accepted.
  await call(`/tasks/${id}/creations`)
  primary.child.kill('SIGTERM')
  t.match(await query, { id, state: 'processing' })
  t.equal(await primary.exitCode(), 0)
})
