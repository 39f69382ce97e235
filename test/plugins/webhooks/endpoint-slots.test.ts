/** Concurrency of the outbox: receivers that hang, that are slow, and that recover. */
import t from 'tap'
import type { HostBase, Reply } from '../../../engine/plugin.ts'
import { DUE, enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { publicAccess, startReceiver } from '../../helpers/money/receiver.ts'
import { type NotificationDesk, openDesk, SECRET } from '../../helpers/money/webhooks.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const TIMEOUT = 20_000
const isFinished = ({ state }: { state?: unknown }) => state !== 'pending'
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
/** Opens many endpoints, each with some events, in one transaction. */
const open = async (
  { database }: NotificationDesk,
  [from, to]: readonly [number, number],
  events: readonly string[] = ['a'],
  origin = 'https://receiver.test',
): Promise<void> => {
  const ids = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  const now = Date.now()
  const attempts = 10
  await database.write(
    ids.flatMap(endpoint => [
      openEndpoint(endpoint, `${origin}/${endpoint}`, SECRET),
      ...events.map(event =>
        enqueue({ id: `${event}_${endpoint}`, endpoint, body: '{}', attempts, now }),
      ),
    ]),
  )
}
const markSlow = async ({ database }: NotificationDesk): Promise<void> => {
  const slow = { name: 'test: slow', text: 'UPDATE webhook_endpoints SET slow = 1' }
  await database.write([{ sql: slow, values: [] }])
}
const until = async (list: readonly unknown[], count: number): Promise<void> => {
  const deadline = performance.now() + TIMEOUT
  while (list.length < count) {
    if (performance.now() > deadline) throw new Error(`${list.length} of ${count} were sent`)
    await sleep(5)
  }
}
/** A sender without a network: each receiver answers 200 when `onRequest` resolves. */
const fakeSender = (onRequest: (url: string) => Promise<unknown>): Pick<HostBase, 'send'> => ({
  async send(_, { path }) {
    await onRequest(path)
    const reply: Partial<Reply> = { status: 200, headers: {}, bytes: async () => Buffer.alloc(0) }
    return reply as Reply
  },
})

t.test('outbox: a hanging receiver does not delay others', async t => {
  const desk = await openDesk(t)
  const hanging = await startReceiver(t, () => {})
  const slow = await startReceiver(t, (_, response) => {
    response.writeHead(200)
    response.write('half')
  })
  const healthy = await startReceiver(t)
  for (let id = 1; id <= 60; id++) {
    await desk.endpoint(id, `${(id === 1 ? slow : hanging).origin}/${id}`)
    for (const event of ['a', 'b']) await desk.event(`dead_${id}_${event}`, id)
  }
  // The host name of endpoint 2 never resolves.
  const neverResolving = publicAccess('127.0.0.0/8', () => new Promise(() => {}))
  await desk.endpoint(2, 'https://never.test/')
  const stop = desk.start(neverResolving)
  await hanging.until(58)
  await desk.endpoint(100, healthy.origin)
  for (let index = 0; index < 10; index++) await desk.event(`well_${index}`, 100)
  await healthy.until(10)
  t.equal(hanging.received.length, 58, 'all still hang after one attempt each')
  await stop()
  // A busy machine may reach the second event of the slow receiver.
  const first = "event <> 'dead_1_b'"
  const counts = `SELECT outcome, count(*) AS times FROM webhook_attempts WHERE ${first}`
  t.match(await desk.rows(`${counts} GROUP BY outcome`), [
    { outcome: 'SEND_TIMEOUT', times: 59 },
    { outcome: 'delivered', times: 11 },
  ])
  const hangingAttempts = "outcome = 'SEND_TIMEOUT' OR event = 'dead_1_a'"
  const [took] = await desk.rows(
    `SELECT min(ms) AS least, max(ms) AS most FROM webhook_attempts WHERE ${hangingAttempts}`,
  )
  const { least, most } = took ?? {}
  t.ok(Number(least) >= 2_900 && Number(most) <= 15_000, `three seconds: ${least} to ${most} ms`)
})

t.test('outbox: a slow receiver does not delay others', async t => {
  const desk = await openDesk(t)
  let answerCount = 0
  const slow = await startReceiver(t, (_, response) => {
    setTimeout(() => {
      answerCount++
      response.end('ok')
    }, 2_000)
  })
  const healthy = await startReceiver(t)
  await open(desk, [1, 100], ['a', 'b', 'c'], slow.origin)
  await desk.endpoint(101, healthy.origin)
  const stop = desk.start()
  for (const round of [1, 2]) {
    // In the first round no endpoint is known as slow, in the second all are.
    await slow.until(100 * round)
    const startedAt = performance.now()
    await desk.event(`well_${round}`, 101)
    await healthy.until(round)
    const ms = Math.round(performance.now() - startedAt)
    t.ok(
      answerCount < 100 * round,
      `in ${ms} ms, before the hundred receivers answered (${answerCount})`,
    )
  }
  await stop()
  t.match(await desk.rows('SELECT DISTINCT outcome FROM webhook_attempts'), [
    { outcome: 'delivered' },
  ])
})

for (const engine of ENGINES)
  t.test(
    `outbox on ${engine}: an endpoint is slow until a faster response or a saved URL`,
    async t => {
      const desk = await openDesk(t, engine)
      const url = 'https://receiver.test/'
      for (const id of [1, 2]) await desk.endpoint(id, url)
      const deliver = async (id: string, ms: number): Promise<void> => {
        const stop = desk.start(fakeSender(() => sleep(ms)))
        await desk.eventually(id, isFinished)
        await stop()
      }
      const due = async () => {
        const now = Date.now() + desk.ahead
        const rows = await desk.database.read(DUE, [now, now, 10])
        return rows.map(({ receiver, failing }) => [Number(receiver), Number(failing)])
      }
      await desk.event('msg_1', 1)
      t.same(await due(), [[1, 0]], 'no endpoint is slow')
      await deliver('msg_1', 550)
      await desk.event('msg_2', 1)
      desk.ahead += 10
      await desk.event('msg_3', 2)
      t.same(
        await due(),
        [
          [2, 0],
          [1, 1],
        ],
        'healthy endpoints come first, though the slow one waits longer',
      )
      await deliver('msg_2', 0)
      await desk.event('msg_4', 1)
      t.same(await due(), [[1, 0]], 'the last response was fast')
      await deliver('msg_4', 550)
      await desk.event('msg_5', 1)
      t.same(await due(), [[1, 1]])
      await desk.endpoint(1, url)
      t.same(await due(), [[1, 0]], 'the URL may have another receiver')
    },
  )

t.test('outbox: limits healthy, failing and all endpoints', async t => {
  const desk = await openDesk(t)
  /** Times at which requests to receivers that do not answer were sent. */
  const sentAt: number[] = []
  const end = Promise.withResolvers<void>()
  t.teardown(end.resolve)
  const send = fakeSender(url => {
    if (url.endsWith('/1000')) return Promise.resolve()
    sentAt.push(performance.now())
    return end.promise
  })
  await open(desk, [1, 250])
  await markSlow(desk)
  const stop = desk.start(send)
  await until(sentAt, 200)
  await open(desk, [1000, 1000])
  await desk.eventually('a_1000', isFinished)
  t.equal(sentAt.length, 200, '200 slow endpoints, and the healthy one did not wait for them')
  await open(desk, [301, 650])
  await until(sentAt, 500)
  const [first = 0, next = 0, last = 0] = [200, 300, 400].map(index => sentAt[index])
  t.ok(next - first > 450 && last - next > 450, 'a hundred unknown endpoints in each half second')
  await sleep(600)
  t.equal(sentAt.length, 500, 'no more until one of them ends')
  end.resolve()
  await until(sentAt, 600)
  await stop()
})

t.test('outbox: a slow receiver waits for endpoints that were not served yet', async t => {
  const desk = await openDesk(t)
  for (const event of ['a', 'b']) await open(desk, [1, 250], [event])
  await markSlow(desk)
  const urls: string[] = []
  const send = fakeSender(url => {
    urls.push(url)
    return sleep(550)
  })
  const stop = desk.start(send)
  await until(urls, 400)
  t.equal(new Set(urls.slice(0, 400)).size, 250)
  await stop()
})
