/** Every rule fires once and recovers once: over the real audit, ledger, tasks and certificates,
 *  and by a clock that is moved. */
import t, { type Test } from 'tap'
import type { GatewayStatus, HostBase, MetricReading } from '../../../engine/plugin.ts'
import { Monitor } from '../../../plugins/alerts/monitor.ts'
import { offerToOperators } from '../../../plugins/alerts/operator-part.ts'
import type { Host } from '../../../plugins/alerts/rules.ts'
import { type RawSection, SECTION } from '../../../plugins/alerts/section.ts'
import { migrations } from '../../../plugins/alerts/tables.ts'
import { reportAudit } from '../../../plugins/ledger/audit.ts'
import { operatorParts } from '../../../plugins/operator/contributions.ts'
import { measure } from '../../../plugins/task/alarms.ts'
import { certificateOf } from '../../helpers/gateway/certificate.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { type Books, call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { sql, temporaryFolder } from '../../helpers/store/store.ts'
import { startTasks } from '../task/task-gateway.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]
type Rules = NonNullable<RawSection['rules']>
const OFF = Object.fromEntries(
  Object.keys(SECTION.read({ to: [] }).rules).map(name => [name, false]),
) as Rules
type View = { readonly [Name in 'upstreams' | 'keys']: readonly object[] }

/** Looks at one rule in a store, by a clock that only `look` moves. */
const watchRule = async (
  t: Test,
  rules: Rules,
  { books, host = {}, more = {} }: { books?: Books; host?: object; more?: Partial<RawSection> },
) => {
  const { database } = books ?? (await openBooks(t))
  await database.migrate('alerts', migrations)
  const readings = new Map<string, MetricReading>()
  const set = (
    name: string,
    labels: MetricReading['labels'],
    values: readonly number[],
    bounds?: readonly number[],
  ) =>
    void readings.set(JSON.stringify([name, labels]), {
      name,
      labels,
      values,
      ...(bounds && { bounds }),
    })
  const status = { upstreams: {}, keys: {} }
  let ahead = 0
  const folder = temporaryFolder(t)
  const own = {
    database: { ...database, now: async () => Date.now() + ahead },
    gateway: {
      status: async () => status as never as GatewayStatus,
      readings: async () => [...readings.values()],
    },
    log: SILENT_LOG,
    metrics: {
      count() {},
      time() {},
      gauge: (name: string, labels: object, value: number) => set(name, labels as never, [value]),
    },
    folder: () => folder,
    section: () => ({}),
    ...host,
  } as unknown as Host
  const make = (changed: Rules) =>
    new Monitor(
      SECTION.read({
        to: [{ kind: 'slack', url: 'http://a' }],
        rules: { ...OFF, ...changed },
        ...more,
      }),
    )
  let monitor = make(rules)
  const texts = sql('texts', 'SELECT kind, object, text FROM alert_messages ORDER BY id')
  return {
    host: own,
    set,
    status,
    /** Another configuration. */
    change(changed: Rules) {
      monitor = make(changed)
    },
    /** Looks every half minute of a time. */
    async look(ms: number) {
      for (let rest = ms; rest > 0; rest -= 30 * SECOND) {
        ahead += Math.min(rest, 30 * SECOND)
        await monitor.look(own, ahead)
      }
    },
    messages: async () =>
      (await database.read(texts, [])).map(
        ({ kind, object, text }) => `${kind} ${object}: ${text}`,
      ),
  }
}
type Watch = Awaited<ReturnType<typeof watchRule>>
/** `breaks` and `heals` change what the rule sees. */
const seesOneOfEach = async (
  t: Test,
  watch: Watch,
  [breaks, heals]: readonly [() => unknown, () => unknown],
  firing: RegExp,
  span = 5 * MINUTE,
) => {
  await watch.look(2 * MINUTE)
  t.same(await watch.messages(), [], 'nothing while the rule is kept')
  await breaks()
  await watch.look(span)
  await watch.look(span)
  t.match(await watch.messages(), [firing], 'one message')
  t.equal((await watch.messages()).length, 1)
  await heals()
  await watch.look(span)
  await watch.look(span)
  const [, recovery, ...others] = await watch.messages()
  t.match(recovery, /^resolved /)
  t.same(others, [], 'one recovery')
}

t.test('rule ledger: has one message and one recovery for findings of the audit', async t => {
  const books = await openBooks(t)
  await books.credit(1, 100n)
  const watch = await watchRule(t, { ledger: {} }, { books })
  const shift = (amount: number) => async () => {
    await books.database.write([
      {
        sql: sql(`shift ${amount}`, `UPDATE wallets SET balance = balance + (${amount})`),
        values: [],
      },
    ])
    await reportAudit(
      { ...watch.host, database: books.database } as never,
      new AbortController().signal,
    )
  }
  await shift(0)()
  await seesOneOfEach(
    t,
    watch,
    [shift(1), shift(-1)],
    /^firing ledger: The audit of the ledger has \d+ findings/,
  )
})

t.test(
  'rule uncollected: has one message and one recovery for a call that cost too much',
  async t => {
    const books = await openBooks(t)
    await books.credit(1, 100n)
    const watch = await watchRule(t, { uncollected: { window: '1h' } }, { books })
    const overspend = async () => {
      const overrun = await call(books, await books.ledger(), 'r1', payerOf(1), 9n)
      if (overrun.settle) await overrun.settle(9n, 5n)
    }
    const words = /^firing m: 0\.000000005 CNY of 1 calls of m could not be collected in 60 min\.$/
    await seesOneOfEach(t, watch, [overspend, () => watch.look(HOUR)], words)
  },
)

t.test(
  'rule task_unknown: has one message for a submit without an answer, one when it is decided',
  async t => {
    const gateway = await startTasks(t)
    const watch = await watchRule(t, { task_unknown: {} }, {})
    const measureTasks = () =>
      measure({ database: gateway.database, metrics: watch.host.metrics } as never)
    let id = ''
    await measureTasks()
    const lose = async () => {
      gateway.here.script = () => ({ cut: true })
      id = String((await gateway.create()).json.task_id)
      while ((await gateway.rows('SELECT state FROM tasks'))[0]?.state !== 'unknown')
        await new Promise(resolve => setImmediate(resolve))
      await measureTasks()
    }
    const decide = async () => {
      await gateway.call('POST', `/tasks/${id}/cancel`, {})
      await gateway.reach(id, 'failed')
      await measureTasks()
    }
    await seesOneOfEach(
      t,
      watch,
      [lose, decide],
      /^firing tasks: It is unknown of 1 tasks/,
      10 * MINUTE,
    )
  },
)

t.test(
  'rule certificate: has one message near the end, one when another is configured',
  async t => {
    let tls = { cert: certificateOf(t, 'gateway.example').cert }
    const host = { section: () => ({ tls }) }
    const watch = await watchRule(t, { certificate: { before: '1d' } }, { host })
    const renew = () => {
      tls = { cert: certificateOf(t, 'gateway.example', 30).cert }
    }
    const words = /^firing settings\.tls: The certificate of CN=gateway\.example ends at 20/
    await seesOneOfEach(t, watch, [() => watch.look(DAY), renew], words)
  },
)

t.test('rule disk: has one message and one recovery for a bound that changes', async t => {
  const watch = await watchRule(t, { disk: { below: '0%' } }, {})
  const bound = (below: string) => () => watch.change({ disk: { below } })
  await seesOneOfEach(
    t,
    watch,
    [bound('100%'), bound('0%')],
    /^firing data folder: [\d.]+% of the disk/,
  )
})

t.test('rule balance: has one message and one recovery for the answers of a provider', async t => {
  let total = 20
  const host = {
    pins: () => [
      { address: 'https://a', key: 'k1' },
      { address: 'https://b', key: 'k1' },
    ],
    send: async () => ({
      status: 200,
      bytes: async () => Buffer.from(JSON.stringify({ data: { total } })),
    }),
  }
  const more = { balances: [{ upstream: 'up', path: '/balance', at: 'data.total', below: 10 }] }
  const watch = await watchRule(t, {}, { host, more })
  const set = (value: number) => () => {
    total = value
  }
  const words = /^firing up k1: The balance at up is 7; the bound is 10\.$/
  await seesOneOfEach(t, watch, [set(7), set(30)], words, 15 * MINUTE)
})

const PROOF = { upstream: 'up', outcome: 'answered' }
t.test('rules upstream_down and key_refused: recover once when a call is answered', async t => {
  const cases = [
    [
      'upstreams',
      'upstream_down',
      { address: 'https://a' },
      'ejected',
      /^firing up https:\/\/a: .* it is ejected\.$/,
    ],
    [
      'keys',
      'key_refused',
      { key: 'k1', seconds: 9 },
      'resting',
      /^firing up k1: .* refused the key k1/,
    ],
  ] as const
  for (const [view, rule, item, state, words] of cases) {
    const watch = await watchRule(t, { [rule]: {} }, {})
    const show = (now: string) => () => {
      const items: View = { upstreams: [{ address: 'https://a', state: 'ready' }], keys: [] }
      Object.assign(watch.status, {
        upstreams: { up: items.upstreams },
        [view]: { up: [{ ...item, state: now }] },
      })
    }
    show('ready')()
    const heal = async () => {
      show('ready')()
      await watch.look(5 * MINUTE)
      t.equal((await watch.messages()).length, 1, 'no call has shown that it works')
      let calls = 0
      const isAnswered = async (ms: number) => {
        for (let rest = ms; rest > 0; rest -= 30 * SECOND) {
          watch.set('attempts_total', PROOF, [++calls])
          await watch.look(30 * SECOND)
        }
      }
      await isAnswered(5 * MINUTE)
    }
    await seesOneOfEach(t, watch, [show(state), heal], words)
  }
})

t.test('rules error_share and p99: have one message and one recovery in their windows', async t => {
  const failing = await watchRule(t, { error_share: { calls: 10, for: '1m' } }, {})
  const count = (status: string, value: number) =>
    failing.set('requests_total', { route: 'chat', status }, [value])
  count('200', 0)
  count('502', 0)
  const share = [() => [count('200', 10), count('502', 10)], () => count('200', 1_000)] as const
  const words = /^firing chat: 10 of 20 calls of the route chat failed in 5 min \(50%\)\.$/
  await failing.look(10 * MINUTE)
  await seesOneOfEach(t, failing, share, words, 2 * MINUTE)

  const slow = await watchRule(t, { p99: { above: '2s', calls: 10, for: '1m' } }, {})
  const times = (fast: number, late: number) =>
    slow.set('request_seconds', { route: 'chat' }, [fast, 0, late, 0], [1, 2, 5])
  times(0, 0)
  await slow.look(15 * MINUTE)
  const latency = [() => times(10, 10), () => times(5_000, 10)] as const
  const text = /^firing chat: 99 of 100 calls of the route chat took up to 5 s in 10 min\.$/
  await seesOneOfEach(t, slow, latency, text, 4 * MINUTE)
})

t.test(
  'alerts rules: has the state of every rule, its last messages and the quiet hours',
  async t => {
    const raw = {
      to: [
        { kind: 'slack', url: 'http://a.example/secret' },
        { kind: 'mail', to: 'a@b.example' },
      ],
      quiet: { from: '00:30', to: '06:05', zone: 'Asia/Kolkata', except: ['ledger'] },
      rules: { ...OFF, disk: { below: '100%' }, ledger: {} },
    }
    const shared = new Map<string, object>()
    const host = {
      section: (name: string) => (name === 'alerts' ? raw : {}),
      share: (key: string, version: string, create: () => object) => {
        const object = shared.get(key + version) ?? create()
        shared.set(key + version, object)
        return object
      },
    }
    const watch = await watchRule(t, { disk: { below: '100%' } }, { host })
    offerToOperators(watch.host as never)
    const show = async (at: string) => {
      const now = async () => Date.parse(at)
      const own = {
        ...watch.host,
        database: { ...watch.host.database, now },
      } as unknown as HostBase
      const view = await operatorParts(own).alerts?.rules(own)
      return { ...view, disk: view?.rules.find(({ rule }) => rule === 'disk') }
    }
    const before = await show('2026-01-10T00:00:00.000Z')
    t.match(before, {
      receivers: ['slack a.example', 'mail a@b.example'],
      quiet: {
        from: '00:30',
        to: '06:05',
        zone: 'Asia/Kolkata',
        until: '2026-01-10T00:35:00.000Z',
      },
      disk: { state: 'kept', firing: 0, fired: null, recovered: null, waits: true },
    })
    t.match(before.rules, [{ rule: 'upstream_down', state: 'off', waits: true }])
    t.match(before.rules?.[4], { rule: 'ledger', state: 'kept', waits: false })
    await watch.look(SECOND)
    t.match(await show('2026-01-10T01:00:00.000Z'), {
      quiet: { until: null },
      disk: { state: 'pending' },
    })
    await watch.look(5 * MINUTE)
    t.match((await show('2026-01-10T01:00:00.000Z')).disk, {
      state: 'firing',
      firing: 1,
      fired: /^20/,
      recovered: null,
    })
    watch.change({ disk: { below: '0%' } })
    await watch.look(5 * MINUTE)
    t.match((await show('2026-01-10T01:00:00.000Z')).disk, {
      state: 'kept',
      firing: 0,
      fired: /^20/,
      recovered: /^20/,
    })
  },
)
