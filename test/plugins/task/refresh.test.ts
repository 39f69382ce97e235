/** Links of results that are asked for again before they expire: `results: refresh`. */
import t from 'tap'
import { expiryOf } from '../../../plugins/task/results/link-expiry.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'
import { startTasks } from './task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
const SOON = Math.floor(Date.now() / 1_000) + 600
const LATER = SOON + 86_400

const VIEWS = [
  { path: 'GET /v1/videos/{id}/content', task: { dialect: 'openai-videos', view: 'content' } },
  {
    path: 'POST /v1/videos',
    model: 'body',
    task: {
      dialect: 'openai-videos',
      submit: { id: '/task_id' },
      poll: {
        path: 'GET /p/{id}',
        every: '20ms',
        state: '/state',
        states: { success: 'succeeded' },
        results: '/creations',
      },
      results: 'refresh',
    },
  },
  { path: 'GET /v1/videos/{id}', task: { dialect: 'openai-videos', view: 'query' } },
]
const start = (test: Parameters<typeof startTasks>[0], engine?: Engine, options: object = {}) =>
  startTasks(test, engine, { results: 'refresh', ...options }, {}, VIEWS)
/** Each poll finds the task finished, and signs its link anew. `path`: of the link. */
const signEachPoll = ({ here, url, requests }: Gateway, expires: number, path = '/clip') => {
  here.script = ({ method, path: place }) => {
    if (method === 'POST') return { json: { task_id: 'up' } }
    if (place.startsWith('/clip')) return serveClip(place)
    const link = `${url}${path}?Expires=${expires}&n=${polls({ requests } as Gateway)}`
    return { json: { state: 'success', creations: [{ id: '1', url: link }] } }
  }
}
const serveClip = (place: string) =>
  place.endsWith('n=1') ? { status: 403 } : { file: Buffer.from('the clip') }
const polls = ({ requests }: Pick<Gateway, 'requests'>) =>
  requests.filter(({ path }) => path.includes('/creations') || path.startsWith('/p/')).length
const linkIn = ({ creations }: { readonly [name: string]: unknown }) =>
  (creations as readonly { readonly url: string }[])[0]?.url ?? ''
/** The task finished long ago. */
const age = ({ change }: Gateway) => change('UPDATE tasks SET changed = 1, refreshed = NULL')

for (const engine of ENGINES)
  t.test(`links on ${engine}: asked for again before they expire, once for many`, async t => {
    const gateway = await start(t, engine)
    signEachPoll(gateway, SOON)
    const id = String((await gateway.create()).json.task_id)
    t.match(linkIn(await gateway.reach(id, 'success')), /n=1$/)
    t.match(linkIn((await gateway.query(id)).json), /n=1$/, 'a new link is not asked for again')
    await age(gateway)
    const answers = await Promise.all([1, 2, 3].map(() => gateway.query(id)))
    t.same(new Set(answers.map(({ json }) => linkIn(json).at(-1))), new Set(['2']))
    t.equal(polls(gateway), 2)
    t.match(linkIn((await gateway.query(id)).json), /n=2$/, 'it is stored')
    t.equal(polls(gateway), 2)
    const before = await gateway.spent()
    await age(gateway)
    await gateway.query(id)
    t.equal(await gateway.spent(), before, 'nothing is charged for it')
    t.same(await gateway.findings(), [])
  })
t.test('links: one that is valid for more than an hour is not asked for again', async t => {
  const gateway = await start(t)
  signEachPoll(gateway, LATER)
  const id = String((await gateway.create()).json.task_id)
  await gateway.reach(id, 'success')
  await age(gateway)
  t.match(linkIn((await gateway.query(id)).json), /n=1$/)
  t.equal(polls(gateway), 1)
})
t.test('links: without `results: refresh` the upstream is not asked again', async t => {
  const gateway = await start(t, 'sqlite', { results: 'link' })
  signEachPoll(gateway, SOON)
  const id = String((await gateway.create()).json.task_id)
  await gateway.reach(id, 'success')
  await age(gateway)
  t.match(linkIn((await gateway.query(id)).json), /n=1$/)
})
for (const [fault, answer] of Object.entries({
  'an error': { status: 500, json: {} },
  'a broken connection': { cut: true },
  'a task that it has forgotten': { status: 404, json: {} },
  'a task without results': { json: { state: 'success', creations: [] } },
  'a task that has failed meanwhile': { json: { state: 'failed', creations: [] } },
}))
  t.test(`links: the old ones stay after ${fault}, and the next query does not ask`, async t => {
    const gateway = await start(t)
    signEachPoll(gateway, SOON)
    const id = String((await gateway.create()).json.task_id)
    await gateway.reach(id, 'success')
    await age(gateway)
    gateway.here.script = () => answer
    const { status, json } = await gateway.query(id)
    t.match({ status, state: json.state }, { status: 200, state: 'success' })
    t.match(linkIn(json), /n=1$/)
    const calls = gateway.requests.length
    t.match(linkIn((await gateway.query(id)).json), /n=1$/)
    t.equal(gateway.requests.length, calls)
  })
t.test('links: a download whose link has expired gets the file by a new one', async t => {
  const gateway = await start(t)
  signEachPoll(gateway, LATER)
  const headers = { 'content-type': 'application/json', account: '1' }
  const body = JSON.stringify({ model: 'clip', prompt: 'a cat', seconds: '4' })
  const created = await fetch(`${gateway.gatewayUrl}/v1/videos`, { method: 'POST', headers, body })
  const { id } = (await created.json()) as { id: string }
  const address = `${gateway.gatewayUrl}/v1/videos/${id}`
  for (let status = ''; status !== 'completed'; )
    ({ status } = (await (await fetch(address, { headers })).json()) as { status: string })
  t.equal((await fetch(`${address}/content`, { headers })).status, 404, 'it is just finished')
  await age(gateway)
  const content = await fetch(`${address}/content`, { headers })
  t.equal(content.status, 200)
  t.equal(await content.text(), 'the clip')
})
t.test('links: their expiry is read from the signatures of object stores', t => {
  const at = Date.UTC(2026, 10, 28, 13)
  const cases = {
    'X-Amz-Date=20261128T120000Z&X-Amz-Expires=3600': at,
    'X-Goog-Expires=3600&X-Goog-Date=20261128T120000Z': at,
    'X-Tos-Date=20261128T120000Z&X-Tos-Expires=3600': at,
    'x-oss-date=20261128T120000Z&x-oss-expires=3600': at,
    [`OSSAccessKeyId=x&Expires=${at / 1_000}`]: at,
    [`expires=${at}`]: at,
    [`e=${at / 1_000}&token=x`]: at,
    'sv=2024&se=2026-11-28T13%3A00%3A00Z&sig=x': at,
    [`q-sign-time=1;${at / 1_000}`]: at,
    'X-Amz-Expires=3600': undefined,
    'X-Amz-Date=never&X-Amz-Expires=3600': undefined,
    'expires=soon&x=1': undefined,
    '': undefined,
  }
  for (const [query, expected] of Object.entries(cases))
    t.equal(expiryOf(`https://files.example/1?${query}`), expected, query)
  t.equal(expiryOf('no link'), undefined)
  t.end()
})
