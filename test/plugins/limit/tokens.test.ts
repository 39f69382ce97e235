/** Tokens per time: let in by the size of the request, corrected by what it used, exact over both workers. */
import t from 'tap'
import { estimateTokens } from '../../../plugins/limit/tokens.ts'
import { FILES } from '../../../plugins/slots.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { count, type Got, get, startLimited } from '../../helpers/limited.ts'

/** A body for which so many tokens are estimated. */
const body = (tokens: number): string => 'x'.repeat(tokens * 4)
const key = '7'
const HOUR = 3_600_000

t.test('by size, exactly as many as allowed', async t => {
  const { urls } = await startLimited(t, { tokens: '230/h' })
  const all = await Promise.all(
    Array.from({ length: 80 }, (_, at) => get(`${urls[at % 2]}/x`, { key }, body(10))),
  )
  t.equal(count(all, 200), 23)
  const refused = all.find(({ status }) => status === 429)
  t.match(refused?.body.error, { type: 'tokens', code: 'rate_limit_exceeded' })
  t.match(refused?.body.error?.message, /230 tokens per h; this request needs about 10\./)
  const wait = Number(refused?.retryAfter)
  t.ok(wait > 3_500 && wait <= 3_600)
  t.equal((await get(`${urls[0]}/x`, { key: '8' }, body(10))).status, 200)
})

t.test('what was used less goes back, whichever worker asks next', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h' })
  const statuses: number[] = []
  for (let at = 0; at < 12; at++)
    statuses.push(
      (await get(`${urls[at % 2]}/x`, { key, used: '{"input":6,"output":4}' }, body(20))).status,
    )
  t.same(statuses, [...Array(9).fill(200), 429, 429, 429], 'the tenth would need 20 of 10')
  t.equal((await get(`${urls[0]}/x`, { key, used: '{"input":10}' }, body(10))).status, 200)
  t.equal((await get(`${urls[1]}/x`, { key }, body(1))).status, 429)
})

t.test('what was used more counts, though it was let in', async t => {
  const gateways = await startLimited(t, {}, { section: { key: { tokens: '100/h' } } })
  const { urls } = gateways
  const used = '{"input":10,"cached":20,"output":30,"thinking":200,"images":900,"calls":5}'
  const first = await get(`${urls[0]}/x`, { key, used }, body(1))
  t.equal(first.status, 200)
  for (const url of urls) {
    const refused = await get(`${url}/x`, { key }, body(1))
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '0')
  }
  gateways.ahead = HOUR
  t.equal((await get(`${urls[1]}/x`, { key }, body(100))).status, 200, 'the next window is whole')
})

t.test(
  'a call that ends in a later window gives that one nothing, and takes what it used',
  async t => {
    const gateways = await startLimited(t, {}, { section: { key: { tokens: '100/h' } } })
    const { urls } = gateways
    const held = async (used: string, ahead: number): Promise<void> => {
      const call = get(`${urls[0]}/held`, { key, used })
      while (gateways.held === 0) await new Promise(resolve => setImmediate(resolve))
      gateways.ahead += ahead
      t.equal((await get(`${urls[1]}/x`, { key }, body(60))).status, 200)
      gateways.release()
      t.equal((await call).status, 200)
    }
    await held('{"input":0}', HOUR)
    t.equal((await get(`${urls[1]}/x`, { key }, body(41))).status, 429)
    t.equal((await get(`${urls[1]}/x`, { key }, body(40))).status, 200)
    gateways.ahead += HOUR
    await held('{"output":31}', HOUR)
    t.equal((await get(`${urls[0]}/x`, { key }, body(11))).status, 429, '60 and the 30 more')
    t.equal((await get(`${urls[0]}/x`, { key }, body(10))).status, 200)
  },
)

t.test('what failed or was refused used nothing', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h', requests: '3/h' })
  for (const fail of ['500', '400'])
    t.equal((await get(`${urls[0]}/x`, { key, fail }, body(90))).status, Number(fail))
  t.equal((await get(`${urls[1]}/x`, { key }, body(90))).status, 200)
  const refused = await get(`${urls[1]}/x`, { key }, body(10))
  t.equal(refused.body.error?.type, 'requests')
  t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '0')
  const again = await get(`${urls[0]}/x`, { key }, body(10))
  t.equal(again.body.error?.type, 'requests', 'its tokens went back')
})

t.test('counts that are not the upstream’s own are no reason to give back', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h' })
  await get(`${urls[0]}/x`, { key, used: '{}', estimated: '1' }, body(90))
  t.equal((await get(`${urls[0]}/x`, { key }, body(11))).status, 429)
  t.equal((await get(`${urls[0]}/x`, { key }, body(10))).status, 200)
})

t.test('a request that no window could hold', async t => {
  const { urls } = await startLimited(t, { tokens: '100/min' })
  const refused = await get(`${urls[0]}/x`, { key }, body(101))
  t.equal(refused.status, 429)
  t.match(refused.body.error, { type: 'tokens', message: /too large: it needs about 101 tokens/ })
  t.equal(refused.headers.get('x-should-retry'), 'false')
  t.ok(Number(refused.retryAfter) > 0)
  t.equal((await get(`${urls[0]}/x`, { key }, body(100))).status, 200)
})

t.test('a body of unknown length is measured; none is one token', async t => {
  const { urls } = await startLimited(t, {}, { section: { key: { tokens: '10/h' } } })
  const chunked = async (tokens: number): Promise<number> => {
    const stream = new Blob([body(tokens)]).stream()
    const options = {
      method: 'POST',
      headers: { key },
      body: stream,
      duplex: 'half',
    } as RequestInit
    const response = await fetch(`${urls[0]}/x`, options)
    await response.arrayBuffer()
    return response.status
  }
  t.equal(await chunked(8), 200)
  t.equal(await chunked(3), 429)
  const all: Got[] = []
  for (let times = 0; times < 4; times++) all.push(await get(`${urls[0]}/x`, { key }))
  t.equal(count(all, 200), 2)
})

t.test('the files of a form are no text', async t => {
  for (const headers of [{ 'content-length': '4000' }, { 'transfer-encoding': 'chunked' }]) {
    const exchange = fakeExchange({ headers, body: Buffer.alloc(4_000) })
    t.equal(await estimateTokens(exchange), 1_000n)
    exchange.slots.set(FILES, 3_600)
    t.equal(await estimateTokens(exchange), 100n)
  }
})
