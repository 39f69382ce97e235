/** What a usage comes to, with its lines as the store keeps them; and the word when some of it has no price. */
import type { Exchange, Log, Metrics } from '../../engine/plugin.ts'
import { price } from '../billing/price.ts'
import { quickly } from '../billing/quick.ts'
import { freeze, type Rule } from '../billing/rule.ts'
import { counted, type Facts } from '../billing/usage.ts'
import type { Usage } from '../slots.ts'
import type { InsufficientFunds } from './insufficient-funds.ts'
import type { Ledger, Payer } from './ledger.ts'
import type { Hold, Settlement } from './statements.ts'
import { walletsOf } from './wallet.ts'

export interface BillFacts {
  readonly payer: Payer
  readonly rule: Rule
  readonly facts: Facts
  readonly model: string
  readonly version: number
  /** Nanos. */
  readonly held: bigint
  /** Nanos that are charged at most, whatever was used. Absent: as much as the account has. */
  readonly most?: bigint | undefined
}
/** How often its hold a call may cost at most. Absent for tools that upstreams run: nothing that is asked bounds them. */
const TIMES_HELD = 2n
export const mostCharged = (held: bigint, hosted: boolean): bigint | undefined =>
  hosted ? undefined : held * TIMES_HELD

/** No more than a call may be charged at most. */
export const bounded = (nanos: bigint, { most = nanos }: Pick<BillFacts, 'most'>): bigint =>
  nanos < most ? nanos : most

export interface BillKit {
  readonly ledger: Ledger
  readonly log: Log
  readonly metrics: Metrics
  readonly insufficient: InsufficientFunds
}

export interface Charged {
  readonly nanos: bigint
  /** JSON. */
  readonly lines: string
  readonly unpriced: readonly string[]
}
const ALL_PRICED: readonly string[] = []
export const chargeOf = (
  usage: Usage,
  { rule, facts }: Pick<BillFacts, 'rule' | 'facts'>,
): Charged => {
  const quick = rule.quick && quickly(rule.quick, usage.meters)
  if (quick) return { nanos: quick.nanos, lines: quick.lines, unpriced: ALL_PRICED }
  const { nanos, lines, unpriced } = price(counted(usage), rule, facts)
  return { nanos, lines: JSON.stringify(lines), unpriced }
}

/** Of a hold, what never changes about it. */
export const rowOf = (
  { id, route }: Exchange,
  { payer, rule, model, version, facts }: BillFacts,
): Omit<Hold, 'process' | 'held'> => ({
  request: id,
  account: payer.account,
  key: payer.key,
  keyHeld: payer.quota !== undefined,
  route: route.name,
  model,
  version,
  rule: freeze(rule),
  opened: facts.at,
})

/** Tells operators of a call that used what has no price. */
export const alarmUnpriced = (
  { log, metrics }: BillKit,
  id: string,
  model: string,
  unpriced: readonly string[],
): void => {
  if (unpriced.length === 0) return
  for (const meter of unpriced) metrics.count('unpriced_total', { model, meter })
  log.warn({ id, model, unpriced }, 'a call used what has no price')
}
/** The same of a call that cost more than it may be charged, or than the account had. */
export const alarmUncollected = (
  { log, metrics }: BillKit,
  id: string,
  model: string,
  nanos: bigint,
): void => {
  if (nanos <= 0n) return
  metrics.count('uncollected_total', { model })
  log.warn({ id, model, uncollected: String(nanos) }, 'a call cost more than could be collected')
}
export const settlementOf = (
  request: string,
  { account, key }: Payer,
  { meters, estimated }: Usage,
  { nanos, lines }: Charged,
  amount: bigint,
): Settlement => {
  const uncollected = nanos - amount
  return {
    request,
    amount,
    uncollected: uncollected < MOST_STORED ? uncollected : MOST_STORED,
    estimated,
    wallets: walletsOf(account, key),
    closed: Date.now(),
    usage: JSON.stringify(meters),
    lines,
  }
}
/** The largest number of a column: counts up to 2^53 may cost more. */
const MOST_STORED = 2n ** 63n - 1n

/** What an upstream did before anything held it in the store is paid for by nobody. */
export const uncharged = ({ metrics }: Pick<BillKit, 'metrics'>, model: string): void =>
  metrics.count('uncharged_total', { model })
