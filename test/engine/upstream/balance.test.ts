/** Which of several targets an attempt picks. Times and loads are arguments. */
import t from 'tap'
import type { Balance } from '../../../engine/plugin.ts'
import { isAtOwnPlace, type PickState, pick, recordTime } from '../../../engine/upstream/balance.ts'
import type { Candidate } from '../../../engine/upstream/candidate.ts'
import { Health } from '../../../engine/upstream/health.ts'

const NOW = 1_000
const RULES = { failures: 1, eject: 500 }
const NONE: ReadonlySet<Candidate> = new Set()

/** Candidates by name, each with a weight and a load. */
const createCandidates = (
  ...list: readonly (readonly [name: string, weight?: number, busy?: number])[]
) =>
  list.map(
    ([name, weight, busy = 0]) =>
      ({
        target: { upstream: name, ...(weight !== undefined && { weight }) },
        upstream: { keys: undefined },
        origin: { health: new Health(), busy },
        base: '',
      }) as unknown as Candidate & { readonly origin: { readonly health: Health; busy: number } },
  )
/** The names of this many picks in a row. */
const picks = (
  candidates: readonly Candidate[],
  balance: Balance,
  count: number,
  state: PickState = { count: 0 },
): string[] =>
  Array.from(
    { length: count },
    () => pick(candidates, NONE, balance, state, NOW)?.target.upstream ?? 'none',
  )
const countName = (names: readonly string[], name: string): number =>
  names.filter(each => each === name).length

t.test('balance first: picks the first available candidate', async t => {
  const [a, b, c] = createCandidates(['a'], ['b'], ['c']) as [Candidate, Candidate, Candidate]
  t.same(picks([a, b, c], 'first', 3), ['a', 'a', 'a'])
  a.origin.health.recordFailure(NOW, RULES)
  t.same(picks([a, b, c], 'first', 2), ['b', 'b'])
  t.equal(
    pick([a, b, c], new Set([b]), 'first', { count: 0 }, NOW),
    c,
    'a candidate that was tried is skipped',
  )
})

t.test('balance round-robin: picks available candidates in turn', async t => {
  const candidates = createCandidates(['a'], ['b'], ['c'])
  const state = { count: 0 }
  t.same(picks(candidates, 'round-robin', 7, state).join(''), 'abcabca')
  candidates[1]?.origin.health.recordFailure(NOW, RULES)
  t.equal(countName(picks(candidates, 'round-robin', 10, state), 'b'), 0)
})

t.test('balance weighted: any number of first picks follows the weights', async t => {
  for (const weights of [
    [3, 1],
    [1, 1],
    [5, 3, 2],
    [90, 9, 1],
    [1, 1, 1, 1, 1, 1, 1],
  ]) {
    const candidates = createCandidates(...weights.map((weight, n) => [`t${n}`, weight] as const))
    const row = picks(candidates, 'weighted', 2_000)
    const sum = weights.reduce((all, each) => all + each)
    const counts = weights.map(() => 0)
    for (let length = 1; length <= row.length; length++)
      for (const [n, weight] of weights.entries()) {
        if (row[length - 1] === `t${n}`) counts[n] = (counts[n] ?? 0) + 1
        const off = (counts[n] ?? 0) - (length * weight) / sum
        if (Math.abs(off) >= 3) t.fail(`${weights}: t${n} is ${off} off after ${length} picks`)
        if (length === 1_000) t.ok(Math.abs(off) < 2, `${weights}: t${n} of a thousand`)
      }
  }
  t.same(picks(createCandidates(['a', 3], ['b', 1]), 'weighted', 4).sort(), ['a', 'a', 'a', 'b'])
})

t.test(
  'balance weighted: the default weight is 1, and 0 is not picked while another is available',
  async t => {
    const plain = countName(picks(createCandidates(['a'], ['b']), 'weighted', 100), 'a')
    t.ok(plain >= 49 && plain <= 51, `${plain} of a hundred`)
    t.equal(countName(picks(createCandidates(['a', 0], ['b', 1]), 'weighted', 100), 'b'), 100)
    t.same(
      picks(createCandidates(['a', 0], ['b', 0]), 'weighted', 2),
      ['a', 'a'],
      'with all weights 0 the first is picked',
    )
  },
)

t.test('balance least-busy: picks the fewest requests under way by weight', async t => {
  t.same(picks(createCandidates(['a', 1, 5], ['b', 1, 2], ['c', 1, 9]), 'least-busy', 1), ['b'])
  t.same(
    picks(createCandidates(['a', 1, 5], ['b', 4, 8]), 'least-busy', 1),
    ['b'],
    '8 of 4 is less than 5',
  )
  t.same(picks(createCandidates(['a'], ['b']), 'least-busy', 1), ['a'], 'the first of equals')
  const candidates = createCandidates(['a'], ['b'], ['c'])
  for (let n = 0; n < 9; n++) {
    const choice = pick(candidates, NONE, 'least-busy', { count: 0 }, NOW)
    const origin = candidates.find(each => each === choice)?.origin
    if (origin) origin.busy++
  }
  t.same(
    candidates.map(each => each.origin.busy),
    [3, 3, 3],
  )
})

t.test('balance: of unavailable candidates picks the one available soonest', async t => {
  for (const balance of ['first', 'round-robin', 'weighted', 'least-busy'] as const) {
    const candidates = createCandidates(['a'], ['b'], ['c'])
    const [a, b, c] = candidates
    a?.origin.health.recordFailure(NOW, { failures: 1, eject: 900 })
    b?.origin.health.recordFailure(NOW, { failures: 1, eject: 300 })
    c?.origin.health.rest(NOW + 600, NOW)
    t.same(picks(candidates, balance, 2), ['b', 'b'], balance)
    t.equal(pick(candidates, new Set([b as Candidate]), balance, { count: 0 }, NOW), c)
  }
  const [only] = createCandidates(['a'])
  only?.origin.health.recordFailure(NOW, RULES)
  t.same(
    picks([only as Candidate], 'first', 1),
    ['a'],
    'a single candidate is picked although it is unavailable',
  )
})

t.test('balance: picks none when all were tried, or there are none', async t => {
  const [a, b] = createCandidates(['a'], ['b']) as [Candidate, Candidate]
  t.equal(pick([a, b], new Set([a, b]), 'first', { count: 0 }, NOW), undefined)
  t.equal(pick([a], new Set([a]), 'first', { count: 0 }, NOW), undefined)
  t.equal(pick([], NONE, 'first', { count: 0 }, NOW), undefined)
})

t.test('affinity: a conversation stays, and a failure moves its own only', async t => {
  const candidates = createCandidates(['a', 2], ['b'], ['c'])
  const placesOf = (): string[] =>
    Array.from({ length: 2_000 }, (_, conversation) => {
      const own = candidates.map(each => ({
        ...each,
        target: {
          ...each.target,
          name: each.target.upstream,
          affinity: `1 session ${conversation}`,
        },
      }))
      return pick(own, NONE, 'weighted', { count: 0 }, NOW)?.target.upstream ?? 'none'
    })
  const before = placesOf()
  t.same(placesOf(), before, 'the same in every process')
  t.ok(Math.abs(countName(before, 'a') - 1_000) < 100, 'by weight')
  t.ok(Math.abs(countName(before, 'b') - 500) < 75)
  candidates[1]?.origin.health.recordFailure(NOW, RULES)
  const after = placesOf()
  t.equal(countName(after, 'b'), 0)
  t.ok(before.every((place, index) => place === 'b' || place === after[index]))
})
t.test('affinity: with balance first it does not change the target', async t => {
  const targets = createCandidates(['a'], ['b']).map(each => ({
    ...each,
    target: { ...each.target, affinity: 'x' },
  }))
  t.same(picks(targets, 'first', 3), ['a', 'a', 'a'])
})

t.test('own place: a conversation is there unless its address or its key has moved', async t => {
  const [one, other] = createCandidates(['a'], ['b']) as [Candidate, Candidate]
  const place = (candidate: Candidate, balance: Balance, key?: object) =>
    isAtOwnPlace(
      { candidate, target: { upstream: 'a', affinity: 'talk' }, key: key as never },
      [one, other],
      balance,
    )
  t.ok(place(one, 'first'))
  t.notOk(place(other, 'first'))
  t.same([one, other].filter(each => place(each, 'weighted')).length, 1, 'one of both by affinity')
  const keys = [
    { name: 'k1', weight: 1 },
    { name: 'k2', weight: 1 },
  ]
  Object.assign(one.upstream, { keys: { list: keys } })
  t.same(keys.filter(key => place(one, 'first', key)).length, 1, 'one of its keys')
  t.ok(place(one, 'first'), 'without a key the address counts')
})

t.test('balance cheapest: the lowest cost, equal ones in turn, dearer ones behind', async t => {
  const costs = [2, 0.5, undefined, 0.5]
  const list = createCandidates(['a'], ['b'], ['c'], ['d']).map((each, index) => ({
    ...each,
    target: { ...each.target, cost: costs[index] },
  })) as unknown as Candidate[]
  const [a, b, c, d] = list as [Candidate, Candidate, Candidate, Candidate]
  const state = { count: 0 }
  t.same(picks(list, 'cheapest', 5, state).join(''), 'bdbdb')
  t.equal(pick(list, new Set([b]), 'cheapest', { count: 0 }, NOW), d, 'the other one of both')
  t.equal(pick(list, new Set([b, d]), 'cheapest', { count: 0 }, NOW), a)
  t.equal(pick(list, new Set([a, b, d]), 'cheapest', { count: 0 }, NOW), c, 'without a cost')
  for (const each of [b, d]) each.origin.health.recordFailure(NOW, RULES)
  t.same(picks(list, 'cheapest', 2, state).join(''), 'aa')

  const free = createCandidates(['x'], ['y'])
  t.same(picks(free, 'cheapest', 3).join(''), 'xyx', 'without any cost all take turns')
})

t.test('balance cheapest: a conversation stays at one of the cheapest', async t => {
  const costs = [2, 1, 1]
  for (let talk = 0; talk < 12; talk++) {
    const list = createCandidates(['a'], ['b'], ['c']).map((each, index) => ({
      ...each,
      target: { ...each.target, cost: costs[index], affinity: `talk-${talk}` },
    })) as unknown as Candidate[]
    const [first] = picks(list, 'cheapest', 1)
    t.not(first, 'a')
    t.same(new Set(picks(list, 'cheapest', 3)), new Set([first]))
    const own = list.filter(candidate =>
      isAtOwnPlace({ candidate, target: candidate.target, key: undefined }, list, 'cheapest'),
    )
    t.same(
      own.map(({ target }) => target.upstream),
      [first],
    )
  }
})

t.test('balance fastest: the first content of recent streams decides', async t => {
  const MINUTE = 60_000
  const state = { count: 0 }
  const list = createCandidates(['a'], ['b'], ['c']).map(each => ({
    ...each,
    upstream: { ...each.upstream, name: each.target.upstream },
    origin: { ...each.origin, times: new Map() },
  })) as unknown as readonly [Candidate, Candidate, Candidate]
  const [a, b, c] = list
  const record = (each: Candidate, ms: number, now: number, kind: 'stream' | 'plain' = 'stream') =>
    Array.from({ length: 20 }, () => recordTime(each, kind, ms, now))
  const picksAt = (now: number, count = 40) =>
    Array.from({ length: count }, () => pick(list, NONE, 'fastest', state, now)?.target.upstream)
      .map(String)
      .join('')

  t.equal(picksAt(0, 6), 'abcabc', 'nothing is known: in turn')
  for (let count = 0; count < 19; count++) recordTime(b, 'stream', 1, 0)
  t.equal(picksAt(0, 3), 'abc', 'nineteen times are too few')
  record(a, 300, 0, 'plain')
  record(b, 200, 0, 'plain')
  t.equal(countName([...picksAt(0)], 'b'), 36, 'plain answers decide where no streams are known')
  record(b, 500, MINUTE)
  record(a, 100, MINUTE)
  const some = picksAt(MINUTE)
  t.equal(countName([...some], 'a'), 36, 'streams decide')
  t.equal(countName([...some], 'c'), 4, 'one pick in ten explores a target that is not known')
  record(c, 300, MINUTE)
  t.equal(picksAt(MINUTE), 'a'.repeat(40), 'all are known: none explores')
  for (let count = 0; count < 5; count++) record(a, 400, 2 * MINUTE)
  t.equal(picksAt(2 * MINUTE), 'c'.repeat(40), 'a target that becomes slow is left')
  const later = picksAt(6 * MINUTE + 1)
  t.equal(countName([...later], 'a'), 36, 'times older than five minutes do not count')
  t.equal(picksAt(7 * MINUTE + 1, 3).length, 3)
  t.equal(new Set(picksAt(8 * MINUTE, 30)).size, 3, 'nothing is known again')
  a.origin.health.recordFailure(8 * MINUTE, RULES)
  t.notMatch(picksAt(8 * MINUTE), 'a', 'an ejected target is not picked')
  for (let count = 0; count < 1_000; count++)
    recordTime({ ...c, target: { upstream: 'c', name: `m-${count}` } }, 'stream', 1, 0)
  t.ok(c.origin.times.size <= 1_000, 'names of clients are bounded')
})
