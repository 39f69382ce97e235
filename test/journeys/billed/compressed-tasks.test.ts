/** Upstreams of tasks that compress without being asked: submits, polls, refusals, links and
 *  copies of results are read decoded. */
import { randomBytes } from 'node:crypto'
import zlib from 'node:zlib'
import t from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { POLL, PRICE, startTasks } from '../../plugins/task/task-gateway.ts'

const ENCODERS = {
  gzip: zlib.gzipSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
} as const
const CLIP = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom', 'latin1'), randomBytes(60_000)])

const video = (view: string) => ({ dialect: 'openai-videos', view })
const VIDEOS = [
  {
    path: 'POST /v1/videos',
    model: 'body',
    task: { dialect: 'openai-videos', submit: { id: '/task_id' }, poll: POLL },
  },
  { path: 'GET /v1/videos/{id}', task: video('query') },
  { path: 'GET /v1/videos/{id}/content', task: video('content') },
]
/** Creates a video and returns the address of its file. */
const createVideo = async (gatewayUrl: string, headers: Readonly<Record<string, string>>) => {
  const body = JSON.stringify({ model: 'clip', prompt: 'a cat', seconds: '5' })
  const created = await fetch(`${gatewayUrl}/v1/videos`, { method: 'POST', headers, body })
  const { id } = (await created.json()) as { id: string }
  const address = `${gatewayUrl}/v1/videos/${id}`
  await eventually(async () => {
    const { status } = (await (await fetch(address, { headers })).json()) as { status: string }
    return status === 'completed'
  })
  return `${address}/content`
}

for (const [coding, encode] of Object.entries(ENCODERS))
  t.test(`compressed tasks: ${coding}`, async t => {
    const gateway = await startTasks(t, 'sqlite', { results: 'copy' }, {}, VIDEOS)
    const coded = (body: Buffer | object, status = 200) => ({
      status,
      headers: { 'content-encoding': coding },
      file: encode(Buffer.isBuffer(body) ? body : JSON.stringify(body)),
    })
    const creations = [{ id: '1', url: `${gateway.url}/clip` }]
    gateway.here.script = ({ method, path, body }) => {
      if (path === '/clip') return coded(CLIP)
      if (method !== 'POST') return coded({ state: 'success', creations })
      return body.prompt === 'refused'
        ? coded({ code: 400, reason: 'FieldInvalid', message: 'The prompt is bad.' }, 400)
        : coded({ task_id: 'up', state: 'created' })
    }
    const { json } = await gateway.create()
    const done = await gateway.reach(String(json.task_id), 'success', 'failed')
    t.equal(done.state, 'success')
    const [{ url = '' } = {}] = done.creations as readonly { url?: string }[]
    const headers = { account: '1', 'content-type': 'application/json' }
    const address = await createVideo(gateway.gatewayUrl, headers)
    for (const file of [await gateway.fetchFile(url), await fetch(address, { headers })]) {
      t.equal(file.status, 200)
      t.equal(file.headers.get('content-encoding'), null)
      t.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP))
    }
    t.equal(await gateway.spent(), 2n * PRICE)
    const refused = await gateway.create({ prompt: 'refused' })
    const { err_code } = await gateway.reach(String(refused.json.task_id), 'failed')
    t.equal(err_code, 'FieldInvalid')
    t.equal(await gateway.spent(), 2n * PRICE)
    t.same(await gateway.findings(), [])
  })
