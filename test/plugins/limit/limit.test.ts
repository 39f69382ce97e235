/** Limits over two gateways that share allowances, as the workers of a machine do. */
import { request as httpRequest } from 'node:http'
import t from 'tap'
import limit from '../../../plugins/limit/index.ts'
import {
  countStatus,
  getReply,
  type LimitReply,
  sendMany,
  startLimited,
} from './limited-gateways.ts'

t.test('requests limit: admits exactly the allowed number by key and by route', async t => {
  const { urls } = await startLimited(t, { requests: '23/h' })
  const all = await sendMany(urls, '/x', 80, '7')
  t.equal(countStatus(all, 200), 23)
  t.equal(countStatus(all, 429), 57)
  const refusal = all.find(response => response.status === 429)
  t.match(refusal?.body.error, { type: 'requests', code: 'rate_limit_exceeded' })
  t.match(refusal?.body.error?.message, /23 requests per h/)
  const wait = Number(refusal?.retryAfter)
  t.ok(wait > 3_500 && wait <= 3_600, 'seconds until the window ends')
  t.equal(countStatus(await sendMany(urls, '/x', 2, '8'), 200), 2, 'another key has its own limit')
  t.equal(
    countStatus(await sendMany(urls, '/y', 2, '7'), 200),
    2,
    'another route has its own limit',
  )
})

t.test('key limits: replace those of the route and apply across routes', async t => {
  const { urls } = await startLimited(t, { requests: '2/h', concurrency: 1 })
  const headers = { key: '9', limits: '{"requests":"5/h","concurrency":50}' }
  const statuses: number[] = []
  for (const path of ['/x', '/y', '/x', '/y', '/x', '/y', '/x'])
    statuses.push((await getReply(`${urls[statuses.length % 2]}${path}`, headers)).status)
  t.same(statuses, [200, 200, 200, 200, 200, 429, 429])
})

t.test('requests limit: counts by client address without a key', async t => {
  const { urls } = await startLimited(t, { requests: '3/h' })
  const all = await Promise.all([0, 1, 0, 1, 0].map(at => getReply(`${urls[at]}/x`)))
  t.equal(countStatus(all, 200), 3)
})

t.test(
  'concurrency limit: is released at the end of a request and when its client disconnects',
  async t => {
    const gateways = await startLimited(t, { concurrency: 3 })
    const { urls } = gateways
    const untilHeld = async (expected: number) => {
      while (gateways.waitingCount < expected) await new Promise(resolve => setImmediate(resolve))
    }
    const slow = [0, 1, 0].map(at => getReply(`${urls[at]}/held`, { key: '1' }))
    await untilHeld(3)
    const refusal = await getReply(`${urls[1]}/held`, { key: '1' })
    t.equal(refusal.status, 429)
    t.equal(refusal.retryAfter, '1')
    t.equal((await getReply(`${urls[1]}/x`, { key: '2' })).status, 200, 'another key is free')
    gateways.answerWaiting()
    t.same(
      (await Promise.all(slow)).map(response => response.status),
      [200, 200, 200],
    )

    const headers = { key: '1', limits: '{"concurrency":3}' }
    const leaving = [0, 1, 0].map(at => {
      const request = httpRequest(`${urls[at]}/held`, { headers }).end()
      request.on('error', () => {})
      return request
    })
    await untilHeld(3)
    t.equal(
      (await getReply(`${urls[0]}/x`, headers)).status,
      429,
      "a key's own limit applies across routes",
    )
    for (const request of leaving) request.destroy()
    let again: LimitReply
    do again = await getReply(`${urls[0]}/x`, headers)
    while (again.status === 429)
    t.equal(again.status, 200)
    gateways.answerWaiting()
  },
)

t.test('concurrency limit: a refused request does not count against the rate', async t => {
  const gateways = await startLimited(t, { concurrency: 1, requests: '2/h' })
  const [url] = gateways.urls
  const first = getReply(`${url}/held`, { key: '1' })
  while (gateways.waitingCount === 0) await new Promise(resolve => setImmediate(resolve))
  for (let times = 0; times < 5; times++)
    t.equal((await getReply(`${url}/held`, { key: '1' })).status, 429)
  gateways.answerWaiting()
  t.equal((await first).status, 200)
  const second = getReply(`${url}/held`, { key: '1' })
  while (gateways.waitingCount === 0) await new Promise(resolve => setImmediate(resolve))
  gateways.answerWaiting()
  t.equal((await second).status, 200)
  t.equal(
    (await getReply(`${url}/held`, { key: '1' })).retryAfter?.length,
    4,
    'the rate limit is reached now',
  )
})

t.test('limit schema: refuses invalid limits', async t => {
  const { requests } = limit.schema.properties as Readonly<Record<string, { pattern: string }>>
  const pattern = new RegExp(requests?.pattern ?? '')
  for (const wrong of ['60', '0/min', '-1/s', '60/day', '1.5/s', '60/min ', 'x/min'])
    t.notMatch(wrong, pattern, wrong)
  for (const right of ['1/s', '60/min', '5000/h']) t.match(right, pattern, right)
})

t.test('requests limit: an IPv6 /64 network counts as one client', async t => {
  const keys: string[] = []
  const host = {
    route: { name: 'x', option: () => undefined },
    section: () => ({}),
    allowance: () => ({ take: (key: string) => keys.push(key) > 0, reading: () => undefined }),
  }
  const stage = limit.setup({ requests: '1/s' }, host as never)
  const onEnd = () => {}
  for (const address of [
    '2001:db8:1:2:aaaa::1',
    '2001:db8:1:2:bbbb::2',
    '::ffff:10.0.0.1',
    '10.0.0.1',
    'pipe',
  ])
    await stage.handle(
      { slots: { get: () => undefined }, request: { client: { address } }, onEnd } as never,
      async () => {},
    )
  t.same(keys, [
    'address 2001:db8:1:2::',
    'address 2001:db8:1:2::',
    'address 10.0.0.1',
    'address 10.0.0.1',
    'address pipe',
  ])
})
