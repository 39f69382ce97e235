/** What a usage comes to, with its lines as the store keeps them; and the word when some of it has no price. */
import type { Exchange, Log, Metrics } from '../../engine/plugin.ts'
import { price } from '../billing/price.ts'
import { quickly } from '../billing/quick.ts'
import { freeze, type Rule } from '../billing/rule.ts'
import { counted, type Facts } from '../billing/usage.ts'
import type { Usage } from '../slots.ts'
import type { InsufficientFunds } from './insufficient-funds.ts'
import type { Ledger, Payer } from './ledger.ts'
import type { Hold } from './statements.ts'

export interface BillFacts {
  readonly payer: Payer
  readonly rule: Rule
  readonly facts: Facts
  readonly model: string
  readonly version: number
  /** Nanos. */
  readonly held: bigint
}
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

export const alarm = (
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  id: string,
  model: string,
  unpriced: readonly string[],
): void => {
  for (const meter of unpriced) metrics.count('unpriced_total', { model, meter })
  log.warn({ id, model, unpriced }, 'a call used what has no price')
}
/** It cost more than is held for it and more than the account had: it stands in the books, and is worth somebody's look. */
export const uncollected = (
  { ledger, log, metrics }: BillKit,
  process: string,
  id: string,
  model: string,
  nanos: bigint,
): void => {
  // What was buried is charged to nobody.
  if (!ledger.goesBy(process)) return
  metrics.count('uncollected_total', { model })
  log.warn({ id, model, uncollected: String(nanos) }, 'a call cost more than could be collected')
}
/** What an upstream did before anything held it in the store is paid for by nobody. */
export const uncharged = ({ metrics }: Pick<BillKit, 'metrics'>, model: string): void =>
  metrics.count('uncharged_total', { model })
