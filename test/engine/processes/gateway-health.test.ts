/** The health of upstreams and keys as workers report it and the primary merges it. */
import t from 'tap'
import { healthOf, mergeHealth } from '../../../engine/processes/gateway/health.ts'
import { Health } from '../../../engine/upstream/health.ts'
import { KeyHealth } from '../../../engine/upstream/keys.ts'
import type { Upstream } from '../../../engine/upstream/upstreams.ts'

const MINUTE = { failures: 1, eject: 60_000 }
const conversations = { own: 2, moved: 1 }
const WARMING = new Map([
  ['small', { until: 0, ejections: 0, nextAt: Infinity }],
  ['large', { until: Infinity, ejections: 0, nextAt: 0 }],
])
const upstreamWith = (health: Health, key: KeyHealth): ReadonlyMap<string, Upstream> =>
  new Map([
    [
      'up',
      {
        origins: [
          {
            origin: {
              address: 'http://a.example',
              health,
              busy: 3,
              conversations,
              warmTargets: WARMING,
            },
          },
        ],
        keys: { list: [{ name: 'k1', health: key }] },
      },
    ],
    [
      'sandbox',
      {
        origins: [
          { origin: { health: new Health(), busy: 0, conversations, warmTargets: new Map() } },
        ],
        inside: 'sandbox',
      },
    ],
  ] as never)

t.test(
  'health of a worker: addresses and keys with their states, seconds until a rest ends',
  async t => {
    const [health, key] = [new Health(), new KeyHealth()]
    t.match(healthOf(upstreamWith(health, key)), {
      upstreams: {
        up: [{ address: 'http://a.example', state: 'ready', busy: 3, warming: ['small'] }],
        sandbox: [{ address: 'sandbox:', state: 'ready', warming: [] }],
      },
      keys: { up: [{ key: 'k1', state: 'ready', seconds: 0, limited: [] }] },
    })
    t.match(healthOf(upstreamWith(health, key)).upstreams.up, [{ since: null }])
    const before = Date.now()
    for (const each of [health, key]) each.recordFailure(performance.now(), MINUTE)
    const { upstreams, keys } = healthOf(upstreamWith(health, key))
    t.match(upstreams.up, [{ state: 'ejected' }])
    for (const since of [upstreams.up?.[0]?.since, keys.up?.[0]?.since])
      t.ok(Math.abs(Number(since) - before) < 60_000, `ms since 1970: ${since}`)
    const [resting] = keys.up ?? []
    t.equal(resting?.state, 'resting')
    t.ok(Number(resting?.seconds) > 0 && Number(resting?.seconds) <= 60, `${resting?.seconds} s`)
    t.notOk('sandbox' in keys, 'an upstream without keys')
  },
)

t.test('health of a gateway: the worst state, and how many workers see each', async t => {
  const bad = [new Health(), new KeyHealth()] as const
  for (const each of bad) each.recordFailure(performance.now(), MINUTE)
  const good = () => healthOf(upstreamWith(new Health(), new KeyHealth()))
  const { upstreams, keys } = mergeHealth([good(), healthOf(upstreamWith(...bad)), good()])
  t.match(upstreams.up, [
    {
      busy: 9,
      conversations: { own: 6, moved: 3 },
      warming: ['small'],
      state: 'ejected',
      workers: { ejected: 1, ready: 2 },
    },
  ])
  t.match(keys.up, [{ key: 'k1', state: 'resting', workers: { resting: 1, ready: 2 } }])
  t.same(mergeHealth([]), { upstreams: {}, keys: {} })
})

t.test('health of a gateway: since when an address is in its merged state', async t => {
  const now = performance.now()
  /** Ejected and readmitted at this share of the time that the process has run. */
  const worker = (ejected?: number, readmitted?: number) => {
    const health = new Health()
    if (ejected !== undefined) health.recordFailure(now * ejected, MINUTE)
    if (readmitted !== undefined) health.recordSuccess(now * readmitted)
    return healthOf(upstreamWith(health, new KeyHealth()))
  }
  const sinceOf = ({ upstreams }: Pick<ReturnType<typeof worker>, 'upstreams'>) =>
    upstreams.up?.[0]?.since ?? null
  t.equal(sinceOf(mergeHealth([worker(), worker()])), null, 'ready all the time')
  const [late, early] = [worker(0.7), worker(0.2)]
  t.ok(Number(sinceOf(early)) < Number(sinceOf(late)))
  t.equal(sinceOf(mergeHealth([late, worker(), early])), sinceOf(early), 'the first to see it')
  const [first, last] = [worker(0.1, 0.3), worker(0.1, 0.8)]
  t.equal(sinceOf(mergeHealth([last, worker(), first])), sinceOf(last), 'the last to come back')
})
