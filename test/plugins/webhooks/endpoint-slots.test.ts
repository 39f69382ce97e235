/** Concurrency of the outbox: receivers that hang, that are slow, and that recover. */
import t from 'tap'
import type { HostBase, Reply } from '../../../engine/plugin.ts'
import { DUE, enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { stillClock } from '../../helpers/clocks.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { publicAccess, startReceiver } from '../../helpers/money/receiver.ts'
import { type NotificationDesk, openDesk, SECRET } from '../../helpers/money/webhooks.ts'
import { ENGINES } from '../../helpers/store/store.ts'

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
  await eventually(() => list.length >= count)
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
  await open(desk, [1, 60], ['a', 'b'])
  const [hanging, healthy]: [string[], string[]] = [[], []]
  const hangup = Promise.withResolvers<void>()
  const stop = desk.start(
    fakeSender(async url => {
      if (url.endsWith('/100')) return void healthy.push(url)
      hanging.push(url)
      await hangup.promise
    }),
  )
  await until(hanging, 60)
  await open(
    desk,
    [100, 100],
    Array.from({ length: 10 }, (_, index) => `well_${index}`),
  )
  await until(healthy, 10)
  await desk.eventually('well_9_100', isFinished)
  t.equal(hanging.length, 60, 'all still hang after one attempt each')
  const stopping = stop()
  hangup.resolve()
  await stopping
})

t.test('outbox: a receiver has three seconds for its whole answer', async t => {
  const desk = await openDesk(t)
  const silent = await startReceiver(t, () => {})
  const half = await startReceiver(t, (_, response) => {
    response.writeHead(200)
    response.write('half')
  })
  const urls = [silent.origin, half.origin, 'https://never.test/']
  for (const [index, url] of urls.entries()) {
    await desk.endpoint(index + 1, url)
    await desk.event(`msg_${index + 1}`, index + 1)
  }
  const stop = desk.start(publicAccess('127.0.0.0/8', () => new Promise(() => {})))
  const attempts = await eventually(async () => {
    const rows = await desk.rows('SELECT event, outcome, ms FROM webhook_attempts ORDER BY event')
    return rows.length >= 3 && rows.slice(0, 3)
  })
  await stop()
  t.match(attempts, [
    { event: 'msg_1', outcome: 'SEND_TIMEOUT' },
    // The status is what counts.
    { event: 'msg_2', outcome: 'delivered' },
    { event: 'msg_3', outcome: 'SEND_TIMEOUT' },
  ])
  for (const { event, ms } of attempts) t.ok(Number(ms) >= 2_900, `${event}: ${ms} ms`)
})

t.test('outbox: a slow receiver does not delay others', async t => {
  const desk = await openDesk(t)
  const clock = stillClock(t)
  const [slow, healthy]: [string[], string[]] = [[], []]
  const unanswered: (() => void)[] = []
  await open(desk, [1, 100], ['a', 'b', 'c'])
  const stop = desk.start(
    fakeSender(url => {
      if (url.endsWith('/101')) return Promise.resolve(healthy.push(url))
      slow.push(url)
      return new Promise<void>(resolve => unanswered.push(resolve))
    }),
  )
  // In the first round no endpoint is known as slow, in the second all are.
  for (const round of [1, 2]) {
    await until(slow, 100 * round)
    // Endpoints that take half a second give their places up.
    clock.pass(501)
    await open(desk, [101, 101], [`well_${round}`])
    await until(healthy, round)
    t.equal(unanswered.length, 100, 'before one of the hundred receivers answered')
    for (const answer of unanswered.splice(0)) answer()
  }
  await until(slow, 300)
  const stopping = stop()
  for (const answer of unanswered) answer()
  await stopping
  t.match(await desk.rows('SELECT DISTINCT outcome FROM webhook_attempts'), [
    { outcome: 'delivered' },
  ])
})

for (const engine of ENGINES)
  t.test(
    `outbox on ${engine}: an endpoint is slow until a faster response or a saved URL`,
    async t => {
      const desk = await openDesk(t, engine)
      const clock = stillClock(t)
      const url = 'https://receiver.test/'
      for (const id of [1, 2]) await desk.endpoint(id, url)
      const deliver = async (id: string, ms: number): Promise<void> => {
        const stop = desk.start(fakeSender(async () => clock.pass(ms)))
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
  const clock = stillClock(t)
  const urls: string[] = []
  const end = Promise.withResolvers<void>()
  t.teardown(end.resolve)
  const send = fakeSender(url => {
    if (url.endsWith('/1000')) return Promise.resolve()
    urls.push(url)
    return end.promise
  })
  await open(desk, [1, 250])
  await markSlow(desk)
  const stop = desk.start(send)
  await until(urls, 200)
  await open(desk, [1000, 1000])
  await desk.eventually('a_1000', isFinished)
  t.equal(urls.length, 200, '200 slow endpoints, and the healthy one did not wait for them')
  await open(desk, [301, 650])
  for (const count of [300, 400, 500]) {
    await until(urls, count)
    await sleep(300)
    t.equal(urls.length, count, 'a hundred unknown endpoints in each half second')
    clock.pass(501)
  }
  await sleep(300)
  t.equal(urls.length, 500, 'no more until one of them ends')
  end.resolve()
  await until(urls, 600)
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
