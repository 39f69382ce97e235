/** Rate-limit headers by dialect, on responses and on refusals. */
import t from 'tap'
import { get, startLimited } from '../../helpers/limited.ts'

const LIMITS = { requests: '2/min', tokens: '1000/h' }
const key = '7'

t.test('rate-limit headers in openai: show limit, remaining and reset of each unit', async t => {
  const { urls } = await startLimited(t, LIMITS)
  const [url] = urls
  const { headers } = await get(`${url}/x`, { key }, 'x'.repeat(400))
  t.equal(headers.get('x-ratelimit-limit-requests'), '2', 'replaces the upstream header')
  t.equal(headers.get('x-ratelimit-remaining-requests'), '1')
  t.match(headers.get('x-ratelimit-reset-requests'), /^(1m0s|[1-5]?\ds)$/)
  t.equal(headers.get('x-ratelimit-limit-tokens'), '1000')
  t.equal(headers.get('x-ratelimit-remaining-tokens'), '900')
  t.match(headers.get('x-ratelimit-reset-tokens'), /^(1h0m0s|5\dm\d+s)$/)
  t.equal(headers.get('retry-after'), null)
  await get(`${url}/x`, { key }, '')
  const refusal = await get(`${url}/x`, { key }, '')
  t.equal(refusal.status, 429)
  t.equal(refusal.headers.get('x-ratelimit-remaining-requests'), '0')
  t.equal(refusal.headers.get('x-ratelimit-limit-tokens'), '1000')
  t.ok(Number(refusal.retryAfter) >= 1)
})

t.test('rate-limit headers in anthropic: show limit, remaining and reset of each unit', async t => {
  const { urls } = await startLimited(t, LIMITS, { errors: 'anthropic' })
  const [url] = urls
  const { headers } = await get(`${url}/x`, { key }, 'x'.repeat(400))
  t.equal(headers.get('anthropic-ratelimit-requests-limit'), '2')
  t.equal(headers.get('anthropic-ratelimit-requests-remaining'), '1')
  t.equal(headers.get('anthropic-ratelimit-tokens-remaining'), '900')
  const reset = String(headers.get('anthropic-ratelimit-tokens-reset'))
  t.match(reset, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const wait = Date.parse(reset) - Date.now()
  t.ok(wait > 3_000_000 && wait <= 3_601_000)
  await get(`${url}/x`, { key }, '')
  const refusal = await get(`${url}/x`, { key }, '')
  t.match(refusal.body, { type: 'error', error: { type: 'rate_limit_error' } })
  t.equal(refusal.headers.get('anthropic-ratelimit-requests-remaining'), '0')
  t.ok(Number(refusal.retryAfter) >= 1)
})

const REFUSALS: Readonly<Record<string, Readonly<Record<'requests' | 'concurrency', object>>>> = {
  google: {
    requests: {
      error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: /^\d+s$/ }] },
    },
    concurrency: {
      error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '1s' }] },
    },
  },
  vidu: {
    requests: { code: 429, reason: 'TooManyRequests' },
    concurrency: { code: 429, reason: 'QuotaExceeded' },
  },
  midjourney: { requests: { code: 30 }, concurrency: { code: 30 } },
  envelope: { requests: { success: false }, concurrency: { success: false } },
}
for (const [errors, bodies] of Object.entries(REFUSALS))
  t.test(
    `limits in ${errors}: refusals have the dialect's body and no rate-limit headers`,
    async t => {
      const gateways = await startLimited(t, { requests: '2/h', concurrency: 1 }, { errors })
      const [url] = gateways.urls
      const heldRequest = get(`${url}/held`, { key })
      while (gateways.held === 0) await new Promise(resolve => setImmediate(resolve))
      const busy = await get(`${url}/held`, { key })
      t.equal(busy.status, 429)
      t.match(busy.body, bodies.concurrency)
      t.equal(busy.retryAfter, '1')
      gateways.release()
      t.equal((await heldRequest).status, 200)
      await get(`${url}/x`, { key })
      const answer = await get(`${url}/x`, { key })
      t.equal(answer.status, 200, 'another route')
      t.notOk([...answer.headers.keys()].some(name => /^anthropic-ratelimit/.test(name)))
      const refusal = await get(`${url}/x`, { key })
      t.equal(refusal.status, 429)
      t.match(refusal.body, bodies.requests)
      t.ok(Number(refusal.retryAfter) > 1)
      t.notOk([...refusal.headers.keys()].some(name => /ratelimit/.test(name)))
    },
  )

t.test('rate-limit headers: show the tightest of several limits', async t => {
  const { urls } = await startLimited(t, { requests: '100/min', account: { requests: '5/h' } })
  const [url] = urls
  t.equal((await get(`${url}/x`, { key })).headers.get('x-ratelimit-remaining-requests'), '4')
  t.equal((await get(`${url}/x`, { key: '8' })).headers.get('x-ratelimit-limit-requests'), '5')
})

t.test('rate-limit headers: absent without a limit', async t => {
  const { urls } = await startLimited(t, { concurrency: 5 })
  const { headers } = await get(`${urls[0]}/x`, { key })
  t.equal(headers.get('x-ratelimit-limit-requests'), 'theirs', 'the upstream header passes')
})
