/** Results that are copied into the file store: signed URLs, failures, deletion. */
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { refusal } from '../../../plugins/credentials/faults.ts'
import { fileStoreOf } from '../../../plugins/file-store/file-store.ts'
import task from '../../../plugins/task/index.ts'
import { deleteExpiredTasks } from '../../../plugins/task/jobs.ts'
import { ResultCopier } from '../../../plugins/task/results/copier.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'
import { startS3 } from '../files/s3-server.ts'
import { PRICE, startTasks } from './task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
type Fields = { readonly [name: string]: string }
const CLIP = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom', 'latin1'), randomBytes(600_000)])
const COVER = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(1_000)])
const FILES: Readonly<Record<string, Uint8Array>> = { '/clip': CLIP, '/cover': COVER }
const DAY = 86_400
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Each poll finds the task finished, with these results. `serve`: answers requests for files. */
const finishAt = (
  gateway: Gateway,
  results: readonly object[],
  serve: (path: string, count: number) => ReturnType<Gateway['here']['script']> = path => ({
    file: FILES[path] ?? new Uint8Array(),
  }),
): void => {
  let files = 0
  gateway.here.script = ({ method, path }) => {
    if (method === 'POST') return { json: { task_id: 'up' } }
    if (path.startsWith('/ent/')) return { json: { state: 'success', creations: results as never } }
    return serve(path, ++files)
  }
}
const startCopies = (t: Parameters<typeof startTasks>[0], engine?: Engine, settings: object = {}) =>
  startTasks(t, engine, { results: 'copy' }, { files: settings })
const createOne = async (gateway: Gateway, body: object = {}): Promise<string> =>
  String((await gateway.create(body)).json.task_id)
const creationsOf = (json: object) => (json as { creations: readonly Fields[] }).creations
const bytesOf = async (gateway: Gateway, url = '') =>
  Buffer.from(await (await gateway.fetchFile(url)).arrayBuffer())
/** Makes the next attempt due at once. */
const hurry = (gateway: Gateway) =>
  gateway.change('UPDATE tasks SET copy_due = 1 WHERE copy_due > 1 AND process IS NULL')

for (const code of ['AUTH_EXPIRED', 'AUTH_REVOKED', 'AUTH_SUSPENDED'] as const)
  t.test(`copies: none starts for an owner whose work is refused with ${code}`, async t => {
    const gateway = await startCopies(t, 'sqlite')
    const url = `${gateway.url}/clip`
    let files = 0
    finishAt(gateway, [{ id: '1', url }], (_, count) => {
      files = count
      return { file: CLIP }
    })
    const { script } = gateway.here
    gateway.here.script = (request, count) => {
      const share = { find: undefined as (() => Promise<unknown>) | undefined }
      const lookup = gateway.host().share('accounts/work-owner', '1', () => share)
      // The owner loses access while the upstream runs the task.
      if (request.method === 'GET') lookup.find = async () => refusal(code)
      return script(request, count)
    }
    const id = await createOne(gateway)
    const [creation] = creationsOf(await gateway.reach(id, 'success'))
    t.equal(creation?.url, url, 'the link of the upstream')
    t.equal(files, 0)
  })

for (const engine of ENGINES)
  t.test(`copies on ${engine}: the customer gets signed URLs of equal bytes`, async t => {
    const gateway = await startCopies(t, engine)
    const url = `${gateway.url}/clip?secret=1`
    finishAt(gateway, [{ id: '1', url, cover_url: `${gateway.url}/cover`, watermarked_url: '' }])
    gateway.here.script = (
      script => (request, count) =>
        script({ ...request, path: request.path.replace('?secret=1', '') }, count)
    )(gateway.here.script)
    const id = await createOne(gateway)
    const before = Math.floor(Date.now() / 1_000)
    const [creation = {}] = creationsOf(await gateway.reach(id, 'success'))
    t.match(creation, { id: '1', watermarked_url: '' })
    const signed = new URL(creation.url ?? '')
    t.match(signed.pathname, /^\/files\/file-[0-9a-f]{32}\.mp4$/)
    t.ok(Number(signed.searchParams.get('expires')) >= before + DAY)
    t.equal(hashOf(await bytesOf(gateway, creation.url)), hashOf(CLIP))
    t.equal(hashOf(await bytesOf(gateway, creation.cover_url)), hashOf(COVER))
    const range = await gateway.fetchFile(signed.href, { headers: { range: 'bytes=4-11' } })
    t.equal(range.status, 206)
    t.equal(await range.text(), 'ftypisom')
    const head = await gateway.fetchFile(signed.href, { method: 'HEAD' })
    t.match(Object.fromEntries(head.headers), {
      'content-type': 'video/mp4',
      'content-length': String(CLIP.length),
      'content-disposition': `inline; filename="${id}-1.mp4"`,
      'x-content-type-options': 'nosniff',
      etag: `"${hashOf(CLIP)}"`,
    })
    const tampered = await gateway.fetchFile(
      signed.href.replace(/.$/, end => (end === 'A' ? 'B' : 'A')),
    )
    t.equal(tampered.status, 403)
    t.match(await tampered.json(), { error: { message: /expired, or it is not a link/ } })
    await eventually(async () => {
      const [{ url } = {}] = creationsOf((await gateway.query(id)).json)
      return url !== creation.url || undefined
    })
    const [listed] = (await gateway.call('GET', '/tasks')).json.tasks as unknown as object[]
    t.match(creationsOf(listed ?? {}), [{ url: /\/files\/file-/ }])
    t.equal(await gateway.spent(), PRICE)
    t.same(await gateway.findings(), [])
    const files = await gateway.rows('SELECT account, purpose, expires FROM stored_files')
    const [row] = await gateway.rows('SELECT expires, results FROM tasks')
    t.same(files, Array(2).fill({ account: 0, purpose: 'result', expires: row?.expires }))
    t.same(await gateway.rows('SELECT * FROM file_usage'), [], 'it counts for no quota')
    t.match(row?.results, /secret=1/, 'operators still see where it came from')
  })

t.test('copies: are deleted with their task', async t => {
  const s3 = await startS3(t)
  const gateway = await startCopies(t, 'sqlite', s3.settings)
  finishAt(gateway, [{ url: `${gateway.url}/clip` }])
  const id = await createOne(gateway)
  const [{ url = '' } = {}] = creationsOf(await gateway.reach(id, 'success'))
  t.equal(hashOf(await bytesOf(gateway, url)), hashOf(CLIP))
  t.equal(s3.objects.size, 1)
  await gateway.change('UPDATE tasks SET expires = 1')
  await gateway.change('UPDATE stored_files SET expires = 1')
  await deleteExpiredTasks(gateway.database)
  t.equal((await gateway.query(id)).status, 404)
  t.equal((await gateway.fetchFile(url)).status, 404)
  await fileStoreOf(gateway.host()).removeExpired(new AbortController().signal)
  t.equal(s3.objects.size, 0)
})

t.test('copies: a failed one is tried again, and only what is missing', async t => {
  const gateway = await startCopies(t)
  const fetched: string[] = []
  finishAt(
    gateway,
    [{ url: `${gateway.url}/clip`, cover_url: `${gateway.url}/cover` }],
    (path, count) => {
      fetched.push(path)
      if (count === 1) return { status: 404 }
      return count === 3 ? { cut: true } : { file: FILES[path] ?? new Uint8Array() }
    },
  )
  const id = await createOne(gateway)
  await eventually(async () => fetched.length > 1 || undefined)
  const { json } = await gateway.query(id)
  t.match(json, { state: 'processing', creations: [] }, 'no link is shown before all are copied')
  await eventually(async () => {
    await hurry(gateway)
    return (await gateway.query(id)).json.state === 'success' || undefined
  })
  t.same(fetched, ['/clip', '/cover', '/clip', '/clip'])
  const [creation = {}] = creationsOf((await gateway.query(id)).json)
  t.equal(hashOf(await bytesOf(gateway, creation.url)), hashOf(CLIP))
  t.equal(hashOf(await bytesOf(gateway, creation.cover_url)), hashOf(COVER))
  t.equal(await gateway.spent(), PRICE)
})

t.test('copies: if none can be made, the link is given and the task is charged once', async t => {
  const gateway = await startCopies(t)
  const url = `${gateway.url}/gone?secret=1`
  finishAt(gateway, [{ url }], () => ({ status: 410 }))
  const id = await createOne(gateway)
  await eventually(async () => {
    await hurry(gateway)
    return (await gateway.query(id)).json.state === 'success' || undefined
  })
  t.same(creationsOf((await gateway.query(id)).json), [{ url }])
  const downloads = gateway.requests.filter(({ path }) => path.startsWith('/gone'))
  t.equal(downloads.length, 7)
  const warning = gateway.lines.find(line => line.includes("the customer gets the upstream's link"))
  t.match(warning, /status 410/)
  t.notMatch(warning, /secret/)
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
})

t.test('copies: addresses and base64 of every kind', async t => {
  const gateway = await startCopies(t)
  const base64 = COVER.toString('base64')
  const [refused, unreadable] = ['http://10.0.0.1/clip', 'http://[::1']
  const redirects: Readonly<Record<string, string>> = { '/a': '/clip', '/b': refused }
  finishAt(
    gateway,
    [
      { url: `${gateway.url}/a` },
      { url: `${gateway.url}/b` },
      { url: refused },
      { url: unreadable },
      { url: `data:text/html;base64,${base64}` },
      { b64_json: base64, seed: 7 },
      { url: base64 },
      { url: 'a'.repeat(100) },
    ],
    path => {
      const location = redirects[path]
      return location === undefined ? { file: CLIP } : { status: 302, headers: { location } }
    },
  )
  const id = await createOne(gateway)
  const creations = creationsOf(await gateway.reach(id, 'success'))
  t.match(creations, { length: 8 })
  const [redirected, ...others] = creations
  t.equal(hashOf(await bytesOf(gateway, redirected?.url)), hashOf(CLIP), 'redirects are followed')
  t.same(
    others.slice(0, 3),
    [{ url: `${gateway.url}/b` }, { url: refused }, { url: unreadable }],
    'what may not be fetched is not tried again',
  )
  for (const { url = '' } of others.slice(3, 6)) {
    t.match(url, /\/files\/file-[0-9a-f]{32}\.png\?/)
    t.equal(hashOf(await bytesOf(gateway, url)), hashOf(COVER))
  }
  t.same(Object.keys(others[4] ?? {}), ['seed', 'url'])
  t.same(others[6], { url: 'a'.repeat(100) }, 'a path that looks like base64 stays')
  const [row] = await gateway.rows('SELECT results FROM tasks')
  t.notMatch(row?.results, base64.slice(100, 200), 'the row does not keep the data')
})

t.test('copies: slow ones hold up no other task', async t => {
  const gateway = await startCopies(t)
  const release = Promise.withResolvers<void>()
  finishAt(gateway, [{ url: `${gateway.url}/clip` }], async () => {
    await release.promise
    return { file: CLIP }
  })
  const slow = await Promise.all(Array.from({ length: 6 }, () => createOne(gateway)))
  const isAsked = (path: string) => gateway.requests.filter(each => each.path === path).length
  await eventually(() => isAsked('/clip') === 4 || undefined)
  const script = gateway.here.script
  gateway.here.script = (request, count) =>
    request.path.endsWith('/quick/creations')
      ? { json: { state: 'success', creations: [{ id: '1' }] } }
      : request.method === 'POST'
        ? { json: { task_id: 'quick' } }
        : script(request, count)
  const quick = await createOne(gateway)
  t.match(await gateway.reach(quick, 'success'), { creations: [{ id: '1' }] })
  for (const id of slow) t.match((await gateway.query(id)).json, { state: 'processing' })
  release.resolve()
  for (const id of slow) await gateway.reach(id, 'success')
  t.equal(await gateway.spent(), 7n * PRICE)
})

t.test('copies: a process that ends leaves them to others, as if nothing had failed', async t => {
  const gateway = await startCopies(t)
  finishAt(gateway, [{ url: `${gateway.url}/clip` }], () => new Promise(() => {}))
  const id = await createOne(gateway)
  await eventually(() => gateway.requests.some(({ path }) => path === '/clip') || undefined)
  const copier = gateway.host().share('task copies', '1', () => new ResultCopier())
  await copier.close()
  // The job of this process still runs: it may claim the task once more, and release it again.
  const row = await eventually(async () => {
    const [row] = await gateway.rows('SELECT state, failures, process, due, copy_due FROM tasks')
    return row?.process === null && row
  })
  t.match(row, { state: 'running', failures: 0, due: null })
  t.ok(Number(row?.copy_due) > 0)
  finishAt(gateway, [{ url: `${gateway.url}/clip` }])
  const { reach } = await gateway.worker({ results: 'copy' })
  t.match(await reach(id, 'success'), { creations: [{ url: /\/files\/file-/ }] })
})

t.test('copies: two processes share them, and each file is fetched once', async t => {
  const gateway = await startCopies(t, 'postgres')
  await gateway.worker({ results: 'copy' })
  finishAt(gateway, [{ url: `${gateway.url}/cover` }])
  const ids = await Promise.all(Array.from({ length: 20 }, () => createOne(gateway)))
  for (const id of ids) await gateway.reach(id, 'success')
  t.equal(gateway.requests.filter(({ path }) => path === '/cover').length, 20)
  t.equal(await gateway.spent(), 20n * PRICE)
  t.same(await gateway.findings(), [])
})

t.test('copies: a callback has the signed URL', async t => {
  const gateway = await startCopies(t)
  finishAt(gateway, [{ url: `${gateway.url}/cover` }])
  const id = await createOne(gateway, { callback_url: `${gateway.url}/cover` })
  await gateway.reach(id, 'success')
  const rows = await gateway.rows('SELECT topic, body FROM task_callbacks ORDER BY created, id')
  t.match(rows, [
    { topic: 'processing' },
    { topic: 'success', body: /\/files\/file-\w+\.png\?exp/ },
  ])
  t.notMatch(rows[0]?.body, '/cover', 'the first one shows no link')
})

t.test('copies: a late success is copied before it is charged', async t => {
  const gateway = await startCopies(t)
  let state = 'processing'
  gateway.here.script = ({ method, path }) => {
    if (method === 'POST') return { json: { task_id: 'up' } }
    if (path === '/cover') return { file: COVER }
    return { json: { state, creations: [{ url: `${gateway.url}/cover` }] } }
  }
  const id = await createOne(gateway)
  await gateway.reach(id, 'processing')
  await gateway.change(`UPDATE tasks SET deadline = ${Date.now() - 1}`)
  await gateway.reach(id, 'failed')
  state = 'success'
  await gateway.change('UPDATE tasks SET due = 1')
  const [{ url = '' } = {}] = creationsOf(await gateway.reach(id, 'success'))
  t.equal(hashOf(await bytesOf(gateway, url)), hashOf(COVER))
  t.match(await gateway.rows('SELECT late, due, copy_due FROM tasks'), [
    { late: 1, due: null, copy_due: null },
  ])
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
})

t.test(
  'copies: tollgate check reports `results: copy` without a route that serves the copies',
  async t => {
    const problems: string[] = []
    const create = { path: 'POST /a', task: { results: 'copy' } }
    const signed = { path: 'GET /files/{name}', files: 'signed' }
    for (const routes of [
      [create],
      [create, signed],
      [create, { ...signed, path: 'GET /other/{name}' }],
    ])
      task.check({ routes } as unknown as Parameters<typeof task.check>[0], (where, code) =>
        problems.push(`${where.join('.')} ${code}`),
      )
    t.same(problems, Array(2).fill('routes.0.task.results RESULTS_UNSERVED'))
  },
)
