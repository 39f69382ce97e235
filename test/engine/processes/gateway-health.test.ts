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
    for (const each of [health, key]) each.recordFailure(performance.now(), MINUTE)
    const { upstreams, keys } = healthOf(upstreamWith(health, key))
    t.match(upstreams.up, [{ state: 'ejected' }])
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
