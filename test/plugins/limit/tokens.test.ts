/** Token limits: estimated by request size, corrected by usage, exact across two workers. */
import t from 'tap'
import { estimateTokens } from '../../../plugins/limit/tokens.ts'
import { FILES } from '../../../plugins/slots.ts'
import { fakeExchange } from '../../helpers/gateway/fake-exchange.ts'
import { countStatus, getReply, type LimitReply, startLimited } from './limited-gateways.ts'

/** A body whose estimate is `tokens`. */
const body = (tokens: number): string => 'x'.repeat(tokens * 4)
const key = '7'
const HOUR = 3_600_000

t.test('tokens limit: admits exactly the allowed number by request size', async t => {
  const { urls } = await startLimited(t, { tokens: '230/h' })
  const all = await Promise.all(
    Array.from({ length: 80 }, (_, at) => getReply(`${urls[at % 2]}/x`, { key }, body(10))),
  )
  t.equal(countStatus(all, 200), 23)
  const refusal = all.find(({ status }) => status === 429)
  t.match(refusal?.body.error, { type: 'tokens', code: 'rate_limit_exceeded' })
  t.match(refusal?.body.error?.message, /230 tokens per h; this request needs about 10\./)
  const wait = Number(refusal?.retryAfter)
  t.ok(wait > 3_500 && wait <= 3_600)
  t.equal((await getReply(`${urls[0]}/x`, { key: '8' }, body(10))).status, 200)
})

t.test('tokens limit: returns unused tokens for all workers', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h' })
  const statuses: number[] = []
  for (let at = 0; at < 12; at++)
    statuses.push(
      (await getReply(`${urls[at % 2]}/x`, { key, used: '{"input":6,"output":4}' }, body(20)))
        .status,
    )
  t.same(
    statuses,
    [...Array(9).fill(200), 429, 429, 429],
    'the tenth request needs 20 of 10 tokens',
  )
  t.equal((await getReply(`${urls[0]}/x`, { key, used: '{"input":10}' }, body(10))).status, 200)
  t.equal((await getReply(`${urls[1]}/x`, { key }, body(1))).status, 429)
})

t.test('tokens limit: counts tokens used beyond the estimate', async t => {
  const gateways = await startLimited(t, {}, { section: { key: { tokens: '100/h' } } })
  const { urls } = gateways
  const usage = '{"input":10,"cached":20,"output":30,"thinking":200,"images":900,"calls":5}'
  const first = await getReply(`${urls[0]}/x`, { key, used: usage }, body(1))
  t.equal(first.status, 200)
  for (const url of urls) {
    const refusal = await getReply(`${url}/x`, { key }, body(1))
    t.equal(refusal.status, 429)
    t.equal(refusal.headers.get('x-ratelimit-remaining-tokens'), '0')
  }
  gateways.ahead = HOUR
  t.equal(
    (await getReply(`${urls[1]}/x`, { key }, body(100))).status,
    200,
    'the next window is unused',
  )
})

t.test(
  'tokens limit: a call that ends in a later window returns nothing to it, and adds its overuse',
  async t => {
    const gateways = await startLimited(t, {}, { section: { key: { tokens: '100/h' } } })
    const { urls } = gateways
    const holdAcross = async (usage: string, ahead: number): Promise<void> => {
      const call = getReply(`${urls[0]}/held`, { key, used: usage })
      while (gateways.waitingCount === 0) await new Promise(resolve => setImmediate(resolve))
      gateways.ahead += ahead
      t.equal((await getReply(`${urls[1]}/x`, { key }, body(60))).status, 200)
      gateways.answerWaiting()
      t.equal((await call).status, 200)
    }
    await holdAcross('{"input":0}', HOUR)
    t.equal((await getReply(`${urls[1]}/x`, { key }, body(41))).status, 429)
    t.equal((await getReply(`${urls[1]}/x`, { key }, body(40))).status, 200)
    gateways.ahead += HOUR
    await holdAcross('{"output":31}', HOUR)
    t.equal(
      (await getReply(`${urls[0]}/x`, { key }, body(11))).status,
      429,
      '60 and 30 beyond the estimate',
    )
    t.equal((await getReply(`${urls[0]}/x`, { key }, body(10))).status, 200)
  },
)

t.test('tokens limit: failed and refused requests use nothing', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h', requests: '3/h' })
  for (const fail of ['500', '400'])
    t.equal((await getReply(`${urls[0]}/x`, { key, fail }, body(90))).status, Number(fail))
  t.equal((await getReply(`${urls[1]}/x`, { key }, body(90))).status, 200)
  const refusal = await getReply(`${urls[1]}/x`, { key }, body(10))
  t.equal(refusal.body.error?.type, 'requests')
  t.equal(refusal.headers.get('x-ratelimit-remaining-tokens'), '0')
  const again = await getReply(`${urls[0]}/x`, { key }, body(10))
  t.equal(again.body.error?.type, 'requests', 'its tokens were returned')
})

t.test('tokens limit: estimated counts return nothing', async t => {
  const { urls } = await startLimited(t, { tokens: '100/h' })
  await getReply(`${urls[0]}/x`, { key, used: '{}', estimated: '1' }, body(90))
  t.equal((await getReply(`${urls[0]}/x`, { key }, body(11))).status, 429)
  t.equal((await getReply(`${urls[0]}/x`, { key }, body(10))).status, 200)
})

t.test('tokens limit: refuses a request larger than the window', async t => {
  const { urls } = await startLimited(t, { tokens: '100/min' })
  const refusal = await getReply(`${urls[0]}/x`, { key }, body(101))
  t.equal(refusal.status, 429)
  t.match(refusal.body.error, { type: 'tokens', message: /too large: it needs about 101 tokens/ })
  t.equal(refusal.headers.get('x-should-retry'), 'false')
  t.ok(Number(refusal.retryAfter) > 0)
  t.equal((await getReply(`${urls[0]}/x`, { key }, body(100))).status, 200)
})

t.test('tokens limit: a body of unknown length is measured, and no body is one token', async t => {
  const { urls } = await startLimited(t, {}, { section: { key: { tokens: '10/h' } } })
  const sendChunked = async (tokens: number): Promise<number> => {
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
  t.equal(await sendChunked(8), 200)
  t.equal(await sendChunked(3), 429)
  const all: LimitReply[] = []
  for (let times = 0; times < 4; times++) all.push(await getReply(`${urls[0]}/x`, { key }))
  t.equal(countStatus(all, 200), 2)
})

t.test('tokens limit: files of a form do not count', async t => {
  for (const headers of [{ 'content-length': '4000' }, { 'transfer-encoding': 'chunked' }]) {
    const exchange = fakeExchange({ headers, body: Buffer.alloc(4_000) })
    t.equal(await estimateTokens(exchange), 1_000n)
    exchange.slots.set(FILES, 3_600)
    t.equal(await estimateTokens(exchange), 100n)
  }
})

t.test(
  'tokens limit: a form that no stage has read counts as one token, and is not read',
  async t => {
    for (const length of [{ 'content-length': '4000' }, { 'transfer-encoding': 'chunked' }]) {
      const headers = { ...length, 'content-type': 'multipart/form-data; boundary=b' }
      const exchange = fakeExchange({ headers, body: Buffer.alloc(4_000) })
      t.equal(estimateTokens(exchange), 1n)
    }
  },
)
