/** Workers that crash, stall or are renewed affect only their own running requests. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  eventually,
  folderWith,
  getAlone,
  type Primary,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { LONG, shortOrLong } from '../helpers/run-settings.ts'

const get = (primary: Primary, path = '/stamp') => getAlone(`${primary.url}${path}`)
const untilServing = (primary: Primary, count: number, without: readonly number[] = []) =>
  primary.state(
    ({ workers }) =>
      workers.filter(({ state, pid }) => state === 'serving' && !without.includes(pid)).length ===
      count,
  )
/** `RESTARTS=5 LONG=1 node …` makes fewer restarts. */
const RESTARTS = shortOrLong(1, Number(process.env.RESTARTS ?? 50))
const KINDS = ['throw', 'segv', 'exit']

t.test('workers: crashes, stalls and renewals', async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const untilLogged = (fits: (line: Record<string, unknown>) => boolean) =>
    eventually(() => primary.log().find(fits))

  t.test('an unhandled rejection is logged and cuts no stream', async t => {
    const { workers } = await untilServing(primary, 2)
    t.equal((await get(primary, '/fault?do=reject')).status, 200)
    await eventually(async () => (await primary.metric('unhandled_total')) || undefined)
    t.same(
      (await primary.config()).workers.map(({ pid }) => pid),
      workers.map(({ pid }) => pid),
    )
  })

  t.test('a renewal replaces workers one by one and fails no request', async t => {
    let isOver = false
    const statuses: number[] = []
    const start = performance.now()
    const lanes = ['close', ...Array.from({ length: shortOrLong(2, 8) }, () => 'keep-alive')]
    const loads = lanes.map(async connection => {
      while (!isOver) {
        const response = await fetch(`${primary.url}/stamp`, { headers: { connection } })
        await response.arrayBuffer()
        statuses.push(response.status)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    })
    const stream = fetch(`${primary.url}/events?count=30&every=50`).then(each => each.text())
    for (let round = 0; round < RESTARTS; round++) {
      const before = (await untilServing(primary, 2)).workers.map(({ pid }) => pid)
      primary.child.kill('SIGUSR2')
      await untilServing(primary, 2, before)
    }
    isOver = true
    await Promise.all(loads)
    t.comment(`${Math.round((statuses.length * 1000) / (performance.now() - start))} a second`)
    t.ok(statuses.length > 20)
    t.ok(statuses.every(status => status === 200))
    t.match(await stream, 'data: end', 'a stream ends in its old worker')
  })

  t.test('the builder and the writer are restarted', async t => {
    const child = (name: string): number | undefined => {
      const { pid } = primary.child
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      const fits = (each: string) =>
        readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(`/${name}.`)
      return children.map(Number).find(each => fits(String(each)))
    }
    for (const name of ['builder', 'writer']) {
      const before = await eventually(() => child(name))
      process.kill(before, 'SIGKILL')
      await untilLogged(line => line.msg === `the ${name} ended and is started again`)
      t.not(await eventually(() => child(name)), before)
    }
    t.match(await primary.ask('reload'), { outcome: 'unchanged' })
    t.equal((await get(primary)).status, 200)
  })

  t.test('a stalled worker is detected and killed while the other serves', async t => {
    const stalledCall = get(primary, '/fault?do=block').catch(() => 'cut')
    await untilLogged(line => line.msg === 'a worker does not answer')
    const others = await Promise.all(Array.from({ length: 10 }, () => get(primary)))
    t.ok(others.every(({ status }) => status === 200))
    t.equal(await stalledCall, 'cut')
    await untilLogged(line => line.reason === 'stalled' && line.signal === 'SIGKILL')
    await untilServing(primary, 2)
  })

  t.test('a crashed worker is replaced, and the other serves all requests', async t => {
    for (const kind of KINDS) {
      const before = (await untilServing(primary, 2)).workers.map(({ pid }) => pid)
      await get(primary, `/fault?do=${kind}`).catch(() => 'cut')
      const answers = await Promise.all(Array.from({ length: 20 }, () => get(primary)))
      t.ok(
        answers.every(({ status }) => status === 200),
        kind,
      )
      await primary.state(({ workers }) => {
        const now = workers.filter(({ state }) => state === 'serving').map(({ pid }) => pid)
        return now.length === 2 && now.some(pid => !before.includes(pid))
      })
    }
    t.equal(await primary.metric('worker_restarts_total{reason="crash"}'), 3)
    t.equal(await primary.metric('worker_restarts_total{reason="stalled"}'), 1)
    t.equal(await primary.metric('worker_restarts_total{reason="renewed"}'), RESTARTS * 2)
    const last = await untilLogged(line => line.msg === 'this worker crashed')
    t.match(last, { error: { message: 'thrown where nobody catches' } })
  })

  t.test('the fifth crash in half a minute turns readiness red and delays restarts', async t => {
    t.equal(await primary.ready(), 200)
    const { workers } = await untilServing(primary, 2)
    process.kill(workers.find(({ state }) => state === 'serving')?.pid ?? 0, 'SIGKILL')
    await eventually(async () => ((await primary.ready()) === 503 ? true : undefined))
    const ends = primary.log().filter(line => line.msg === 'a worker ended')
    const delays =
      (await untilLogged(() => ends.length >= 4)) && ends.map(line => Number(line.delay))
    t.ok(delays.slice(0, 4).every(delay => delay < 1_000))
    await untilLogged(line => line.msg === 'a worker ended' && Number(line.delay) >= 1_000)
    await untilServing(primary, 2)
  })
})

t.test('worker: renewed when superseded plugin code fills it', { skip: !LONG }, async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const source = folderWith()['plugins/stamp.ts']
  const [worker] = (await primary.config()).workers
  for (let edit = 0; edit < 80; edit++) {
    primary.write('plugins/stamp.ts', `${source}\nconst edit = ${edit}\nconsole.log(edit)\n`)
    await primary.ask('reload')
  }
  await untilServing(primary, 1, [worker?.pid ?? 0])
})

t.test('workers: finish running requests and end after the primary is killed', async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const stream = await fetch(`${primary.url}/events?count=30&every=20`)
  primary.child.kill('SIGKILL')
  t.match(await stream.text(), 'data: end')
  await primary.allExited()
  t.match(primary.log().at(-1)?.process, /^worker/)
})
