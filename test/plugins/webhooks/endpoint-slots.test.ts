/** Who waits for whom in the outbox: receivers that hang, that are slow, and that no longer are. */
import t from 'tap'
import type { HostBase, Reply } from '../../../engine/plugin.ts'
import { DUE, enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { outside, startReceiver } from '../../helpers/receiver.ts'
import { ENGINES } from '../../helpers/store.ts'
import { type Desk, openDesk, SECRET } from '../../helpers/webhooks.ts'

const PATIENCE = 20_000
const over = ({ state }: { state?: unknown }) => state !== 'pending'
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
/** One commit for many endpoints, each with some events. */
const open = async (
  { database }: Desk,
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
const takeForSlow = async ({ database }: Desk): Promise<void> => {
  const slow = { name: 'test: slow', text: 'UPDATE webhook_endpoints SET slow = 1' }
  await database.write([{ sql: slow, values: [] }])
}
const until = async (list: readonly unknown[], count: number): Promise<void> => {
  const deadline = performance.now() + PATIENCE
  while (list.length < count) {
    if (performance.now() > deadline) throw new Error(`${list.length} of ${count} were sent`)
    await sleep(5)
  }
}
/** Receivers that cost nothing: each answers 200 when what `answered` returns is over. */
const imagined = (answered: (url: string) => Promise<unknown>): Pick<HostBase, 'send'> => ({
  async send(_, { path }) {
    await answered(path)
    const reply: Partial<Reply> = { status: 200, headers: {}, bytes: async () => Buffer.alloc(0) }
    return reply as Reply
  },
})

t.test('outbox: a hanging receiver does not delay others', async t => {
  const desk = await openDesk(t)
  const dead = await startReceiver(t, () => {})
  const slow = await startReceiver(t, (_, response) => {
    response.writeHead(200)
    response.write('half')
  })
  const well = await startReceiver(t)
  for (let id = 1; id <= 60; id++) {
    await desk.endpoint(id, `${(id === 1 ? slow : dead).origin}/${id}`)
    for (const event of ['a', 'b']) await desk.event(`dead_${id}_${event}`, id)
  }
  // The name of one is never resolved.
  const unnamed = outside('127.0.0.0/8', () => new Promise(() => {}))
  await desk.endpoint(2, 'https://never.test/')
  const stop = desk.start(unnamed)
  await dead.until(58)
  await desk.endpoint(100, well.origin)
  for (let index = 0; index < 10; index++) await desk.event(`well_${index}`, 100)
  await well.until(10)
  t.equal(dead.received.length, 58, 'all of them still hang, one attempt each')
  await stop()
  t.match(
    await desk.rows('SELECT outcome, count(*) AS times FROM webhook_attempts GROUP BY outcome'),
    [
      { outcome: 'SEND_TIMEOUT', times: 59 },
      { outcome: 'delivered', times: 11 },
    ],
  )
  const hung = "outcome = 'SEND_TIMEOUT' OR event = 'dead_1_a'"
  const [took] = await desk.rows(
    `SELECT min(ms) AS least, max(ms) AS most FROM webhook_attempts WHERE ${hung}`,
  )
  const { least, most } = took ?? {}
  t.ok(Number(least) >= 2_900 && Number(most) <= 4_500, `three seconds: ${least} to ${most} ms`)
})

t.test('outbox: a slow receiver does not delay others', async t => {
  const desk = await openDesk(t)
  let answered = 0
  const slow = await startReceiver(t, (_, response) => {
    setTimeout(() => {
      answered++
      response.end('ok')
    }, 2_000)
  })
  const well = await startReceiver(t)
  await open(desk, [1, 100], ['a', 'b', 'c'], slow.origin)
  await desk.endpoint(101, well.origin)
  const stop = desk.start()
  for (const round of [1, 2]) {
    // First nobody knows that they are slow, and then it is known of all.
    await slow.until(100 * round)
    const begun = performance.now()
    await desk.event(`well_${round}`, 101)
    await well.until(round)
    const ms = Math.round(performance.now() - begun)
    t.equal(answered, 100 * (round - 1), `in ${ms} ms, and none of the hundred had answered`)
  }
  await stop()
  t.match(await desk.rows('SELECT DISTINCT outcome FROM webhook_attempts'), [
    { outcome: 'delivered' },
  ])
})

for (const engine of ENGINES)
  t.test(`slow until an answer comes sooner, or the URL is saved again: ${engine}`, async t => {
    const desk = await openDesk(t, engine)
    const url = 'https://receiver.test/'
    for (const id of [1, 2]) await desk.endpoint(id, url)
    const answered = async (id: string, ms: number): Promise<void> => {
      const stop = desk.start(imagined(() => sleep(ms)))
      await desk.eventually(id, over)
      await stop()
    }
    const due = async () => {
      const now = Date.now() + desk.ahead
      const rows = await desk.database.read(DUE, [now, now, 10])
      return rows.map(({ endpoint, failing }) => [Number(endpoint), Number(failing)])
    }
    await desk.event('msg_1', 1)
    t.same(await due(), [[1, 0]], 'nobody is taken for slow')
    await answered('msg_1', 550)
    await desk.event('msg_2', 1)
    desk.ahead += 10
    await desk.event('msg_3', 2)
    t.same(
      await due(),
      [
        [2, 0],
        [1, 1],
      ],
      'the others come first, though it waits longer',
    )
    await answered('msg_2', 0)
    await desk.event('msg_4', 1)
    t.same(await due(), [[1, 0]], 'an answer came sooner')
    await answered('msg_4', 550)
    await desk.event('msg_5', 1)
    t.same(await due(), [[1, 1]])
    await desk.endpoint(1, url)
    t.same(await due(), [[1, 0]], 'another receiver may stand there')
  })

t.test('outbox: limits healthy, failing and all endpoints', async t => {
  const desk = await openDesk(t)
  /** When each of those was sent that do not answer. */
  const sent: number[] = []
  const end = Promise.withResolvers<void>()
  t.teardown(end.resolve)
  const send = imagined(url => {
    if (url.endsWith('/1000')) return Promise.resolve()
    sent.push(performance.now())
    return end.promise
  })
  await open(desk, [1, 250])
  await takeForSlow(desk)
  const stop = desk.start(send)
  await until(sent, 200)
  await open(desk, [1000, 1000])
  await desk.eventually('a_1000', over)
  t.equal(sent.length, 200, 'of those that were slow, and nobody waits for them')
  await open(desk, [301, 650])
  await until(sent, 500)
  const [first = 0, next = 0, last = 0] = [200, 300, 400].map(index => sent[index])
  t.ok(next - first > 450 && last - next > 450, 'a hundred that nobody knows in each half second')
  await sleep(600)
  t.equal(sent.length, 500, 'and no more until one of them is over')
  end.resolve()
  await until(sent, 600)
  await stop()
})

t.test('outbox: a slow receiver waits for endpoints that were not served yet', async t => {
  const desk = await openDesk(t)
  for (const event of ['a', 'b']) await open(desk, [1, 250], [event])
  await takeForSlow(desk)
  const sent: string[] = []
  const send = imagined(url => {
    sent.push(url)
    return sleep(550)
  })
  const stop = desk.start(send)
  await until(sent, 400)
  t.equal(new Set(sent.slice(0, 400)).size, 250)
  await stop()
})
