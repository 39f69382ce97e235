/** Limits of a key: by its own numbers, and by the headers of its provider. */
import { Ajv } from 'ajv'
import t from 'tap'
import { assembleSchema } from '../../../engine/config/schema.ts'
import type { Plugin } from '../../../engine/plugin.ts'
import { createLocalAllowances } from '../../../engine/quota/allowance.ts'
import limit from '../../../plugins/limit/index.ts'
import { isRefusal, KeyQuota, resetTime, type Unit } from '../../../plugins/limit/key-quota.ts'

const NOW = 1_000
interface Schema {
  readonly properties: { readonly upstreams: { readonly additionalProperties: object } }
}
const OPENAI = { remaining: 'x-ratelimit-remaining-{unit}', reset: 'x-ratelimit-reset-{unit}' }
const createQuota = (limits: Partial<Record<Unit, number>>, headers = OPENAI) => {
  const allowances = createLocalAllowances({ now: () => NOW })
  const list = (['tokens', 'requests'] as const).flatMap(unit => {
    const amount = limits[unit]
    if (amount === undefined) return []
    const window = { amount: BigInt(amount), ms: 60_000, returns: unit === 'tokens' }
    return [{ unit, amount, allowance: allowances.open(unit, { window }) }]
  })
  const quota = new KeyQuota('key', list, headers)
  const take = async (tokens = 1, now = NOW, target = 'm') => {
    const result = await quota.take(target, tokens, now)
    return isRefusal(result) ? result : 'admitted'
  }
  return { quota, take }
}

t.test('key quota: resets are dates, seconds and durations', async t => {
  const now = Date.parse('2026-11-29T10:00:00Z')
  for (const [text, ms] of [
    ['6m0s', 360_000],
    ['1h2m3.5s', 3_723_500],
    ['120ms', 120],
    ['12', 12_000],
    ['0.25', 250],
    ['2026-11-29T10:00:02Z', 2_000],
    ['2026-11-29T09:59:00Z', 0],
    ['', undefined],
    ['soon', undefined],
    ['2026-11-29', undefined],
    ['-3s', undefined],
  ] as const)
    t.equal(resetTime(text, now), ms, text)
})

t.test('key quota: takes requests and tokens, and returns tokens that were not used', async t => {
  const { quota, take } = createQuota({ requests: 3, tokens: 100 })
  const ticket = await quota.take('m', 80, NOW)
  t.same(await take(30), { ms: 60_000, isForAll: false })
  t.notOk(isRefusal(ticket))
  if (!isRefusal(ticket)) quota.settle(ticket, 20)
  t.equal(await take(30), 'admitted')
  t.equal(await take(30), 'admitted')
  t.same(await take(1), { ms: 60_000, isForAll: true })
  t.equal(await createQuota({ tokens: 100 }).take(5_000), 'admitted', 'a window of its own')
})

t.test('key quota: the headers of a provider refuse until enough is back', async t => {
  const { quota, take } = createQuota({ requests: 100, tokens: 1_000 })
  const read = (headers: Record<string, string>) => quota.read('m', headers, NOW)
  read({ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '60s' })
  t.same(await take(), { ms: 600, isForAll: true }, 'one of a hundred is back after 0.6 s')
  t.equal(await take(1, NOW, 'other'), 'admitted', 'another model')
  t.equal(await take(1, NOW + 60_000), 'admitted')
  read({ 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-reset-requests': '60s' })
  read({ 'x-ratelimit-remaining-tokens': '100', 'x-ratelimit-reset-tokens': '9s' })
  t.equal(await take(60), 'admitted')
  t.same(await take(60), { ms: 188, isForAll: false }, 'those under way count')
})

t.test('key quota: headers that say nothing are ignored', async t => {
  const { quota, take } = createQuota({ requests: 100 })
  for (const headers of [
    { 'x-ratelimit-remaining-requests': '0' },
    { 'x-ratelimit-remaining-requests': 'none', 'x-ratelimit-reset-requests': '1s' },
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': 'later' },
    { 'x-ratelimit-remaining-requests': ['0', '1'], 'x-ratelimit-reset-requests': '1s' },
  ])
    quota.read('m', headers as Record<string, string>, NOW)
  t.equal(await take(), 'admitted')
})

t.test('key quota: limits and names of headers that cannot be are refused', async t => {
  const ajv = new Ajv({ strict: false, formats: { password: true, file: true } })
  const schema = assembleSchema(new Map([['limit', limit as Plugin]])) as Schema
  const fits = ajv.compile(schema.properties.upstreams.additionalProperties)
  const url = 'http://up.test'
  t.ok(fits({ url, key: [{ key: 'a', rpm: 1, tpm: 1 }], key_wait: '1ms' }))
  t.ok(fits({ url, limit_headers: { remaining: 'left-{unit}' } }))
  for (const wrong of [
    { key: [{ key: 'a', rpm: 0 }] },
    { key: [{ key: 'a', rpm: '60/min' }] },
    { key: [{ key: 'a', tpm: 1.5 }] },
    { key: [{ rpm: 5 }] },
    { key_wait: 'soon' },
    { limit_headers: { remaining: 'x-ratelimit-remaining' } },
    { limit_headers: { left: 'left-{unit}' } },
  ])
    t.notOk(fits({ url, ...wrong }), JSON.stringify(wrong))
})
