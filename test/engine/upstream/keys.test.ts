/** Keys of an upstream: turns by weight, rests after refusals, limits for one target. Times are
 *  arguments. */
import t from 'tap'
import { keyStateOf } from '../../../engine/processes/gateway/health.ts'
import { limitTime } from '../../../engine/upstream/health.ts'
import { KeyHealth, UpstreamKeys } from '../../../engine/upstream/keys.ts'

const MINUTE = 60_000
const NOW = 1_000

/** Keys by name, each with a weight, and what they report. */
const createKeys = (weights: Readonly<Record<string, number>>) => {
  const reports: string[] = []
  const healthOf = (name: string): KeyHealth =>
    new KeyHealth({
      onEject: ms => void reports.push(`${name} refused ${ms}`),
      onReadmit: () => void reports.push(`${name} returned`),
      onLimit: (ms, target) => void reports.push(`${name} limited ${ms} ${target}`),
    })
  const list = Object.entries(weights).map(([name, weight]) => ({
    name,
    value: `Bearer ${name}`,
    weight,
    health: healthOf(name),
  }))
  const keys = new UpstreamKeys(list)
  const pick = (now = NOW, target = 'm', mayProbe = true) =>
    keys.pick({ upstream: 'u', name: target }, now, mayProbe)
  const take = (count: number, now = NOW, target = 'm') =>
    Array.from({ length: count }, () => pick(now, target).name).join('')
  const [a, b] = list.map(({ health }) => health) as [KeyHealth, KeyHealth]
  return { keys, a, b, reports, pick, take }
}

t.test('keys: take turns, by weight', async t => {
  t.equal(createKeys({ a: 1, b: 1, c: 1 }).take(7), 'abcabca')
  const weighted = createKeys({ a: 3, b: 1 })
  for (let round = 0; round < 5; round++)
    t.equal(weighted.take(4).replaceAll('a', '').length, 1, 'one of four picks is b')
  t.equal(createKeys({ only: 1 }).take(3), 'onlyonlyonly')
})

t.test('keys: a refused key rests a minute, twice as long each time, at most ten', async t => {
  const { a, pick, take, reports } = createKeys({ a: 1, b: 1 })
  let now = NOW
  for (const minutes of [1, 2, 4, 8, 10, 10]) {
    a.recordAttempt(now)
    a.recordStatus(401, now, now)
    t.equal(reports.at(-1), `a refused ${minutes * MINUTE}`)
    t.equal(keyStateOf(a, now, 0), 'resting')
    t.equal(take(4, now + minutes * MINUTE - 1), 'bbbb')
    now += minutes * MINUTE
    t.equal(keyStateOf(a, now, 0), 'probing')
  }
  t.match(pick(now), { name: 'a' })
})

t.test('keys: after its rest a key is tried by one request, which decides', async t => {
  const { a, pick, take, reports } = createKeys({ a: 1, b: 1 })
  a.refuse(NOW, NOW)
  const due = NOW + MINUTE
  t.equal(pick(due, 'm', false).name, 'b', 'not by a request that cannot be sent again')
  a.recordAttempt(due)
  t.equal(take(3, due), 'bbb', 'until its response')
  a.recordAbandoned()
  t.match(take(2, due), /a/, 'a request that ended without one leaves it to the next')
  a.recordAttempt(due)
  a.recordStatus(500, due, due)
  t.equal(a.needsProbe, true, 'a status that says nothing of the key decides nothing')
  a.recordStatus(200, due, due)
  t.equal(keyStateOf(a, due, 0), 'ready')
  a.recordStatus(200, due, due)
  t.same(reports, ['a refused 60000', 'a returned'])
  a.refuse(due, due)
  t.equal(reports.at(-1), 'a refused 60000', 'the first rest is short again')
})

t.test('keys: many refusals of calls under way count once', async t => {
  const { a, reports } = createKeys({ a: 1, b: 1 })
  for (let call = 0; call < 50; call++) a.recordStatus(401, NOW - call, NOW + call)
  t.same(reports, ['a refused 60000'])
  a.recordStatus(200, NOW - 9, NOW + 9)
  t.equal(a.needsProbe, true, 'a call that began before the refusal proves nothing')
})

t.test('keys: a 429 limits a key for one target only, for its Retry-After', async t => {
  const { keys, a, b, take, reports } = createKeys({ a: 1, b: 1 })
  a.limit('m', 7_000, NOW)
  a.limit('m', 3_000, NOW)
  t.same(reports, ['a limited 7000 m'], 'a limit is reported once')
  t.equal(take(3), 'bbb')
  t.match(take(2, NOW, 'other'), /a/)
  t.equal(keyStateOf(a, NOW, 1), 'limited')
  t.equal(take(2, NOW + 6_999), 'bb', 'a shorter Retry-After does not shorten it')
  t.match(take(2, NOW + 7_000), /a/)
  t.equal(keys.isUsable('m', NOW), true)
  b.limit('m', 1_000, NOW)
  t.equal(keys.isUsable('m', NOW), false)
  t.equal(keys.usableAt('m'), NOW + 1_000)
  t.equal(take(2), 'bb', 'of limited keys the one whose limit ends first')
  a.limit('n', 1_000, NOW + 8_000)
  t.same([...a.limits.keys()], ['n'], 'a limit that ended is forgotten')
})

t.test('keys: a Retry-After counts up to a minute, a second without one', async t => {
  for (const [text, ms] of [
    ['7', 7_000],
    ['0.5', 500],
    ['3600', MINUTE],
    ['0', 1_000],
    ['-1', 1_000],
    ['soon', 1_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', MINUTE],
    ['Sat, 01 Jan 2000 00:00:00 GMT', 1_000],
    [undefined, 1_000],
  ] as const)
    t.equal(limitTime({ 'retry-after': text }), ms, String(text))
  t.equal(limitTime({ 'retry-after-ms': '250' }), 250)
  t.equal(limitTime(), 1_000)
})

t.test('keys: a conversation keeps its key until that rests', async t => {
  const { keys, a } = createKeys({ a: 1, b: 1, c: 1 })
  const keyOf = (conversation: number, now = NOW): string =>
    keys.pick({ upstream: 'u', name: 'm', affinity: `${conversation}` }, now, true).name
  const conversations = Array.from({ length: 300 }, (_, index) => index)
  const before = conversations.map(each => keyOf(each))
  t.same(
    conversations.map(each => keyOf(each)),
    before,
  )
  for (const name of ['a', 'b', 'c'])
    t.ok(before.filter(each => each === name).length > 60, 'each key has its share')
  a.refuse(NOW, NOW)
  const after = conversations.map(each => keyOf(each, NOW + 1))
  t.ok(
    after.every((name, index) => name !== 'a' && (before[index] === 'a' || name === before[index])),
  )
  t.equal(keys.pick({ upstream: 'u', pin: { key: 'b' }, affinity: '7' }, NOW, true).name, 'b')
})

t.test('key: knows since when it rests, is limited, or is ready again', async t => {
  const key = new KeyHealth()
  t.equal(key.since(NOW), undefined)
  key.limit('m', 500, NOW, 'limited')
  key.limit('n', 900, NOW + 100, 'limited')
  t.equal(key.since(NOW + 800), NOW, 'the first of its limits')
  t.equal(key.since(NOW + 2_000), NOW + 1_000, 'ready since the last one ended')
  key.limit('m', 500, NOW + 3_000, 'limited')
  t.equal(key.since(NOW + 3_100), NOW + 3_000)
  key.refuse(NOW + 5_000, NOW + 5_000)
  t.equal(key.since(NOW + 5_100), NOW + 5_000)
  const due = key.availableAt
  key.recordStatus(200, due, due)
  t.equal(key.since(due + 1), due)
})
