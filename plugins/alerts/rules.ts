/** The rules: what each says of its objects now. They read counters and rows that exist anyway. */
import { X509Certificate } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import type { GatewayStatus, HostBase } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { parseMoney, printMoney } from '../billing/money.ts'
import { UNCOLLECTED_SINCE } from '../ledger/views/uncollected.ts'
import type { Balances } from './balances.ts'
import type { RuleName, Rules, Section } from './section.ts'
import type { Observation, RuleReading } from './transition.ts'
import { countOf, type Increment, percentile99, type Windows } from './windows.ts'

export type Host = Pick<
  HostBase,
  'database' | 'folder' | 'gateway' | 'log' | 'metrics' | 'pins' | 'section' | 'send'
>
export interface Surroundings {
  readonly host: Host
  readonly status: GatewayStatus
  readonly windows: Windows
  readonly balances: Balances
  /** ms since 1970, by the clock of the database. */
  readonly now: number
  /** ms, monotonic. */
  readonly tick: number
}
/** A rule that is on. */
export interface ActiveRule {
  readonly name: RuleName
  /** ms. */
  readonly hold: number
  read(surroundings: Surroundings): RuleReading | Promise<RuleReading>
}
type Settings<Name extends keyof Rules> = Exclude<Rules[Name], false>
type Reader<Name extends keyof Rules> = (
  settings: Settings<Name>,
  surroundings: Surroundings,
) => RuleReading | Promise<RuleReading>

/** Metrics that the rules read. */
export const METRICS: readonly string[] = [
  'requests_total',
  'cut_total',
  'request_seconds',
  'attempts_total',
  'ledger_imbalance',
  'tasks_open',
]

// ---------------------------------------------------------------- upstreams

/** ms in which an answered call shows that an upstream works: a new worker knows of no failure. */
const PROOF = 60_000
const answering = (windows: Windows): ReadonlySet<string | undefined> =>
  new Set(
    windows
      .increments('attempts_total', PROOF)
      .filter(({ labels, values }) => labels.outcome === 'answered' && (values[0] ?? 0) > 0)
      .map(({ labels }) => labels.upstream),
  )
const ofUpstreams = <Item>(
  byName: Readonly<Record<string, readonly Item[]>>,
  { windows, status }: Surroundings,
  observe: (upstream: string, item: Item) => Observation,
): RuleReading => {
  const proven = answering(windows)
  const observations = Object.entries(byName).flatMap(([upstream, items]) =>
    items
      .map(item => observe(upstream, item))
      .map(each => ({ ...each, isKnown: each.isBroken || proven.has(upstream) })),
  )
  return {
    // One that nothing is known of must not count as missing.
    observations: observations.filter(({ isKnown }) => isKnown),
    isComplete:
      Object.keys(status.upstreams).length > 0 && observations.every(({ isKnown }) => isKnown),
  }
}
const upstreamDown: Reader<'upstream_down'> = (_, surroundings) =>
  ofUpstreams(surroundings.status.upstreams, surroundings, (upstream, { address, state }) => ({
    object: `${upstream} ${address}`,
    isBroken: state === 'ejected' || state === 'probing',
    text:
      state === 'ready' || state === 'paused'
        ? 'Calls are answered again.'
        : `${address} of the upstream ${upstream} failed several times in a row; it is ${state}.`,
  }))
const keyRefused: Reader<'key_refused'> = (_, surroundings) =>
  ofUpstreams(surroundings.status.keys, surroundings, (upstream, { key, state, seconds }) => ({
    object: `${upstream} ${key}`,
    isBroken: state === 'resting' || state === 'probing',
    text:
      state === 'resting' || state === 'probing'
        ? `The upstream ${upstream} refused the key ${key}, which rests for ${seconds} s more.`
        : 'The key is accepted.',
  }))

// ---------------------------------------------------------------- calls

/** Codes of replies that broke off because of the client, or for a restart of the gateway. */
const NOT_FAILED = new Set(['CLIENT_GONE', 'DRAINING', 'none'])
const sumBy = (
  increments: readonly Increment[],
  counts: (labels: Increment['labels']) => boolean,
): Map<string, number> => {
  const sums = new Map<string, number>()
  for (const { labels, values } of increments)
    if (counts(labels)) {
      const route = labels.route ?? ''
      sums.set(route, (sums.get(route) ?? 0) + (values[0] ?? 0))
    }
  return sums
}
const percent = (share: number): string => `${Math.round(share * 1_000) / 10}%`
const minutesOf = (ms: number): string => `${Math.round(ms / 6_000) / 10} min`

/** Before the readings reach back over the whole window, it is known only what is broken. */
const readingOf = (all: readonly Observation[], isComplete: boolean): RuleReading => ({
  observations: all.filter(each => each.isBroken || isComplete),
  isComplete,
})

const errorShare: Reader<'error_share'> = ({ above, window, calls: least }, { windows }) => {
  const requests = windows.increments('requests_total', window)
  const all = sumBy(requests, ({ status }) => status !== '499')
  const failed = sumBy(requests, ({ status }) => Number(status) >= 500)
  const cut = sumBy(
    windows.increments('cut_total', window),
    ({ code }) => !NOT_FAILED.has(code ?? 'none'),
  )
  const observations = [...all].map(([route, calls]): Observation => {
    const bad = Math.min(calls, (failed.get(route) ?? 0) + (cut.get(route) ?? 0))
    const share = calls === 0 ? 0 : bad / calls
    return {
      object: route,
      isBroken: calls >= least && share > above,
      text: `${bad} of ${calls} calls of the route ${route} failed in ${minutesOf(window)} (${percent(share)}).`,
    }
  })
  return readingOf(observations, windows.isWhole(window))
}
const timeOf = (seconds: number, bounds: readonly number[]): string =>
  Number.isFinite(seconds) ? `up to ${seconds}` : `more than ${bounds.at(-1)}`
const slowCalls: Reader<'p99'> = ({ above, window, calls: least }, { windows }) => {
  const observations = windows.increments('request_seconds', window).map((each): Observation => {
    const [calls, seconds] = [countOf(each), percentile99(each)]
    const route = each.labels.route ?? ''
    return {
      object: route,
      isBroken: calls >= least && seconds * 1_000 > above,
      text: `99 of 100 calls of the route ${route} took ${timeOf(seconds, each.bounds)} s in ${minutesOf(window)}.`,
    }
  })
  return readingOf(observations, windows.isWhole(window))
}

// ---------------------------------------------------------------- money and tasks

const countRule = (
  count: number | undefined,
  object: string,
  text: (count: number) => string,
): RuleReading => ({
  observations: count === undefined ? [] : [{ object, isBroken: count > 0, text: text(count) }],
  isComplete: false,
})
const ledger: Reader<'ledger'> = (_, { windows }) =>
  countRule(
    windows.gauge('ledger_imbalance'),
    'ledger',
    count => `The audit of the ledger has ${count} findings; \`tollgate audit\` shows them.`,
  )
const taskUnknown: Reader<'task_unknown'> = (_, { windows }) =>
  countRule(
    windows.gauge('tasks_open', { state: 'unknown' }),
    'tasks',
    count =>
      `It is unknown of ${count} tasks whether the upstream got them; see \`tollgate tasks list\`.`,
  )
const uncollected: Reader<'uncollected'> = async ({ above, window }, { host, now }) => {
  const rows = await host.database.read(UNCOLLECTED_SINCE, [now - window])
  const bound = parseMoney(above)
  const { name: currency } = configuredCurrency(host)
  const observations = rows.map(({ model, amount, calls }): Observation => {
    const nanos = BigInt((amount ?? 0) as bigint | number)
    return {
      object: String(model),
      isBroken: nanos > bound,
      text: `${printMoney(nanos)} ${currency} of ${calls} calls of ${model} could not be collected in ${minutesOf(window)}.`,
    }
  })
  return { observations, isComplete: true }
}

// ---------------------------------------------------------------- the machine

const disk: Reader<'disk'> = async ({ below }, { host }) => {
  const { bavail, blocks } = await statfs(host.folder('alerts'))
  const share = blocks === 0 ? 1 : bavail / blocks
  const text = `${percent(share)} of the disk of the data folder is free.`
  return {
    observations: [{ object: 'data folder', isBroken: share < below, text }],
    isComplete: true,
  }
}
const certificate: Reader<'certificate'> = ({ before }, { host, now }) => {
  const { tls } = host.section<{ readonly tls?: { readonly cert: string } }>('settings')
  if (!tls) return { observations: [], isComplete: true }
  const { validTo, subject } = new X509Certificate(tls.cert)
  const text = `The certificate of ${subject.replaceAll('\n', ', ')} ends at ${new Date(validTo).toISOString()}.`
  const isBroken = Date.parse(validTo) - now < before
  return { observations: [{ object: 'settings.tls', isBroken, text }], isComplete: true }
}

// ---------------------------------------------------------------- all of them

const READERS: { readonly [Name in keyof Rules]: Reader<Name> } = {
  upstream_down: upstreamDown,
  key_refused: keyRefused,
  error_share: errorShare,
  p99: slowCalls,
  ledger,
  uncollected,
  task_unknown: taskUnknown,
  disk,
  certificate,
}

export const activeRules = ({ rules, balances }: Section): readonly ActiveRule[] => {
  const active = <Name extends keyof Rules>(name: Name): ActiveRule[] => {
    const settings = rules[name]
    if (settings === false) return []
    const own = settings as Settings<Name>
    const hold = (own as { readonly for: number }).for
    return [{ name, hold, read: surroundings => READERS[name](own, surroundings) }]
  }
  const balance: ActiveRule = {
    name: 'balance',
    hold: 0,
    read: ({ balances, host, tick }) => balances.read(host, tick),
  }
  return [
    ...(Object.keys(READERS) as (keyof Rules)[]).flatMap(name => active(name)),
    ...(balances.length > 0 ? [balance] : []),
  ]
}
/** How far back the rules look, ms. */
export const longestWindow = ({ rules }: Section): number =>
  Math.max(PROOF, ...[rules.error_share, rules.p99].map(each => (each === false ? 0 : each.window)))
