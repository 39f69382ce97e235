/** A result is copied while processes are killed with -9: the copy completes, the customer reads
 *  equal bytes, and the task is charged once. */
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually, type Primary, startPrimary } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'
import { sql } from '../../helpers/store/store.ts'

const PLUGINS = fileURLToPath(new URL('../../../plugins', import.meta.url))
const CLIP = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom', 'latin1'), randomBytes(2_000_000)])
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const routesTo = (upstream: string): string => `
settings:
  listen: 127.0.0.1:0
  admin: 127.0.0.1:0
  workers: 1
  data: data
  egress_allow: 127.0.0.0/8
  plugins: ['${PLUGINS}']
pipeline: [errors, auth, model, files, meter, task]
upstreams: { up: { url: '${upstream}', key: k } }
models: { clip: { to: up/clip, price: { seconds: 0.025 }, max_calls: { seconds: 16 } } }
routes:
  - path: POST /ent/v2/text2video
    model: body
    errors: vidu
    task:
      dialect: vidu
      submit: { id: /task_id }
      poll:
        path: GET /ent/v2/tasks/{id}/creations
        every: 50ms..100ms
        state: /state
        states: { success: succeeded }
        results: /creations
      results: copy
  - { path: 'GET /ent/v2/tasks/{id}/creations', task: { dialect: vidu, view: query }, errors: vidu }
  - { path: 'GET /files/{name}', auth: none, files: signed }
`

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
  const untilDownload = (count: number) => eventually(() => downloads.length === count || undefined)
  const files = { 'routes.yaml': routesTo(upstream) }
  const first = await startPrimary(t, { files })
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(first.messages())?.[1])
  const dataFolder = join(first.folder, 'data')
  await creditAdmin(dataFolder)
  const call = async ({ url }: Primary, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    const response = await fetch(`${url}/ent/v2${path}`, { headers, ...init })
    return (await response.json()) as { [name: string]: string & { url: string }[] }
  }
  const { task_id: id } = await call(first, '/text2video', { model: 'clip', duration: 5 })
  await untilDownload(1)
  const [worker] = (await first.config()).workers
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await untilDownload(2)
  first.child.kill('SIGKILL')
  await first.allExited()
  rmSync(join(dataFolder, 'run.json')) // has the address of the killed one
  const second = await startPrimary(t, { files, folder: first.folder })
  await untilDownload(3)
  t.match(await call(second, `/tasks/${id}/creations`), { state: 'processing', creations: [] })
  downloads[2]?.end(CLIP.subarray(1_000_000))
  const done = await eventually(async () => {
    const json = await call(second, `/tasks/${id}/creations?wait=5`)
    return json.state === 'success' ? json : undefined
  })
  const { url = '' } = done.creations?.[0] ?? {}
  t.ok(url.startsWith(`${second.url}/files/file-`))
  const response = await fetch(url)
  t.equal(response.headers.get('content-type'), 'video/mp4')
  t.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hashOf(CLIP))
  const database = await openDatabase({ url: 'sqlite:', data: dataFolder })
  const rows = (text: string) => database.read(sql(text, text), [])
  t.match(await rows('SELECT state, amount FROM charges'), [{ state: 'settled' }])
  t.equal((await rows('SELECT id FROM stored_files')).length, 1)
  t.same(await audit(database), [])
  await database.close()
})
