/** Keys of an upstream: turns by weight, rests after refusals, limits for one target. Times are
 *  arguments. */
import t from 'tap'
import type { KeyRest } from '../../../engine/upstream/events.ts'
import { KeyHealth, limitTime, UpstreamKeys } from '../../../engine/upstream/keys.ts'

const MINUTE = 60_000
const NOW = 1_000

/** Keys by name, each with a weight, and what they report. */
const createKeys = (weights: Readonly<Record<string, number>>) => {
  const reports: string[] = []
  const list = Object.entries(weights).map(([name, weight]) => ({
    name,
    value: `Bearer ${name}`,
    weight,
    health: new KeyHealth(),
  }))
  const keys = new UpstreamKeys('up', list, {
    onEject() {},
    onReadmit() {},
    onKeyRest: (upstream: string, key: string, { reason, ms, target = '' }: KeyRest) =>
      void reports.push(`${upstream} ${key} ${reason} ${ms} ${target}`.trim()),
    onKeyReturn: (upstream, key) => void reports.push(`${upstream} ${key} returned`),
  })
  const pick = (now = NOW, target = 'm', mayProbe = true) => keys.pick(target, now, mayProbe)
  const take = (count: number, now = NOW, target = 'm') =>
    Array.from({ length: count }, () => pick(now, target).name).join('')
  return { keys, list, reports, pick, take }
}

t.test('keys: take turns, by weight', async t => {
  t.equal(createKeys({ a: 1, b: 1, c: 1 }).take(7), 'abcabca')
  const weighted = createKeys({ a: 3, b: 1 })
  for (let round = 0; round < 5; round++)
    t.equal(weighted.take(4).replaceAll('a', '').length, 1, 'one of four picks is b')
  t.equal(createKeys({ only: 1 }).take(3), 'onlyonlyonly')
})

t.test('keys: a refused key rests a minute, twice as long each time, at most ten', async t => {
  const { keys, pick, take, reports } = createKeys({ a: 1, b: 1 })
  let now = NOW
  for (const minutes of [1, 2, 4, 8, 10, 10]) {
    const key = keys.pick('m', now, true, 'a')
    key.health.recordAttempt(now)
    keys.refuse(key, now, now)
    t.equal(reports.at(-1), `up a refused ${minutes * MINUTE}`)
    t.equal(key.health.view(now).state, 'resting')
    t.equal(take(4, now + minutes * MINUTE - 1), 'bbbb')
    now += minutes * MINUTE
    t.equal(key.health.view(now).state, 'probing')
  }
  t.match(pick(now), { name: 'a' })
})

t.test('keys: after its rest a key is tried by one request, which decides', async t => {
  const { keys, list, pick, take, reports } = createKeys({ a: 1, b: 1 })
  const [a] = list as [(typeof list)[0]]
  keys.refuse(a, NOW, NOW)
  const due = NOW + MINUTE
  t.equal(pick(due, 'm', false).name, 'b', 'not by a request that cannot be sent again')
  a.health.recordAttempt(due)
  t.equal(take(3, due), 'bbb', 'until its response')
  a.health.recordAbandoned()
  t.match(take(2, due), /a/, 'a request that ended without one leaves it to the next')
  a.health.recordAttempt(due)
  const use = { target: 'm', sentAt: due, now: due + 5 }
  keys.recordResponse(a, 500, undefined, use)
  t.equal(a.health.isOnTrial, true, 'a status that says nothing of the key decides nothing')
  keys.recordResponse(a, 200, undefined, use)
  t.equal(a.health.view(due).state, 'ready')
  keys.recordResponse(a, 200, undefined, use)
  t.same(reports, ['up a refused 60000', 'up a returned'])
})

t.test('keys: many refusals of calls under way count once', async t => {
  const { keys, list, reports } = createKeys({ a: 1, b: 1 })
  const [a] = list as [(typeof list)[0]]
  for (let call = 0; call < 50; call++)
    keys.recordResponse(a, 401, undefined, { target: 'm', sentAt: NOW - call, now: NOW + call })
  t.same(reports, ['up a refused 60000'])
  keys.recordResponse(a, 200, undefined, { target: 'm', sentAt: NOW - 9, now: NOW + 9 })
  t.equal(a.health.isOnTrial, true, 'a call that began before the refusal proves nothing')
})

t.test('keys: a 429 limits a key for one target only, for its Retry-After', async t => {
  const { keys, list, take, reports } = createKeys({ a: 1, b: 1 })
  const [a, b] = list as [(typeof list)[0], (typeof list)[0]]
  const use = { target: 'm', sentAt: NOW, now: NOW }
  keys.recordResponse(a, 429, '7', use)
  keys.recordResponse(a, 429, '3', use)
  t.same(reports, ['up a limited 7000 m'], 'a limit is reported once')
  t.equal(take(3), 'bbb')
  t.match(take(2, NOW, 'other'), /a/)
  t.equal(a.health.view(NOW).state, 'limited')
  t.same(a.health.view(NOW).limited, ['m'])
  t.equal(take(2, NOW + 6_999), 'bb', 'a shorter Retry-After does not shorten it')
  t.match(take(2, NOW + 7_000), /a/)
  t.equal(keys.isAvailable('m', NOW), true)
  keys.recordResponse(b, 429, undefined, use)
  t.equal(keys.isAvailable('m', NOW), false)
  t.equal(keys.availableAt('m'), NOW + 1_000)
  t.equal(take(2), 'bb', 'of limited keys the one whose limit ends first')
  const only = createKeys({ only: 1 })
  only.keys.recordResponse(only.list[0] as typeof a, 429, '7', use)
  t.same(only.reports, [], 'the 429 of an only key pauses the address')
})

t.test('keys: a Retry-After counts up to a minute, a second without one', async t => {
  for (const [text, ms] of [
    ['7', 7_000],
    ['0.5', 500],
    ['3600', MINUTE],
    ['0', 1_000],
    ['-1', 1_000],
    ['soon', 1_000],
    [undefined, 1_000],
  ] as const)
    t.equal(limitTime(text), ms, String(text))
})
