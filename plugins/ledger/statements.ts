/** The statements of the ledger. Pure: callers combine them with their own in one list. */
import type { Row, Sql, Statement, Value } from '../../engine/plugin.ts'
import { PROCESSES_TABLE, whileRegistered } from '../../engine/store/while-registered.ts'
import { type HeldPlan, plannedOf, type SettledPart } from './plans/part.ts'
import { countsTokens, walletInSql, walletsOf } from './wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

// ---------------------------------------------------------------- charges

/** The hold of a call, written before its first byte leaves. */
export interface Hold {
  readonly request: string
  readonly account: number
  readonly key: number | undefined
  /** Undefined: the account itself makes the call. */
  readonly member?: number | undefined
  /** Whether the call took the amount from the quota of its key, too. */
  readonly holdsKeyQuota: boolean
  /** The wallets of budgets that it took the amount from, too; above zero: it only counts there. */
  readonly budgets?: readonly number[] | undefined
  /** Tokens that it holds of each of those that count tokens; undefined: none does. */
  readonly tokens?: bigint | undefined
  /** The part of the amount that the plan of the account pays. */
  readonly plan?: HeldPlan | undefined
  /** The process whose leases the call took the amount from. */
  readonly process: string
  readonly route: string
  readonly model: string
  /** The configuration version and its price rule as JSON: a reload changes neither. */
  readonly version: number
  readonly rule: string
  /** Nanos. */
  readonly heldAmount: bigint
  /** ms since 1970. */
  readonly openedAt: number
}
/** The cost of a call. `amount` never exceeds the hold. */
export interface Settlement {
  readonly request: string
  readonly amount: bigint
  /** Nanos that the call cost beyond `amount`. */
  readonly uncollected: bigint
  readonly isEstimated: boolean
  /** JSON. */
  readonly usage: string
  readonly lines: string
  readonly closedAt: number
  /** JSON: see `views/served-by.ts`. Absent: as the row has it. */
  readonly served?: string | null | undefined
  /** The wallets of the account and its key: the trigger changes them. */
  readonly wallets: readonly number[]
  /** Of a call with a budget in tokens. */
  readonly tokens?: SettledTokens | undefined
  /** The part that a plan in tokens pays. */
  readonly planned?: SettledPart | undefined
}
export interface SettledTokens {
  /** May be more than was held: then a window counts beyond its amount. */
  readonly used: bigint
  /** Tokens that the process holds; absent: as the row has it. */
  readonly heldTokens?: bigint
}

/** An INSERT of a hold, and the same with its tokens. */
interface HoldInsert {
  readonly plain: Sql
  readonly tokens: Sql
}
/** `textOf` gets the columns that a hold with tokens has more, after a comma, and their values. */
export const insertOfHold = (
  name: string,
  textOf: (column: string, value: string) => string,
): HoldInsert => ({
  plain: whileRegistered(`ledger: ${name}`, textOf('', '')),
  tokens: whileRegistered(
    `ledger: ${name} with tokens`,
    textOf(', tokens_held, plan_tokens', ', CAST(? AS BIGINT), CAST(? AS BIGINT)'),
  ),
})
const OPEN = insertOfHold(
  'open',
  (
    column,
    value,
  ) => `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, opened, key_held, budgets, plan, plan_held, member${column})
   SELECT ?, ?, ?, id, ?, ?, ?, ?, 'open', ?, ?, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)${value} FROM ${PROCESSES_TABLE} WHERE id = ?`,
)
/** Orders a charge after all credits that exist now. Its process leased the money before, so every
 *  credit that it needs is among them. */
export const SERIAL_NOW = '(SELECT coalesce(max(id), 0) FROM credits)'
const SETTLE = sql(
  'settle',
  `UPDATE charges SET state = 'settled', serial = ${SERIAL_NOW}, amount = ?, uncollected = ?,
     estimated = ?, usage = ?, lines = ?, closed = ?, served = coalesce(CAST(? AS TEXT), served)
   WHERE request = ? AND state = 'open'`,
)
const SETTLE_TOKENS = sql(
  'settle tokens',
  SETTLE.text.replace(
    'WHERE',
    `, tokens = CAST(? AS BIGINT), tokens_held = coalesce(CAST(? AS BIGINT), tokens_held),
     plan_held = coalesce(CAST(? AS BIGINT), plan_held), plan_tokens = coalesce(CAST(? AS BIGINT), plan_tokens) WHERE`,
  ),
)
const RELEASE = sql(
  'release',
  "UPDATE charges SET state = 'released', closed = ? WHERE request = ? AND state = 'open'",
)
const EXTEND = sql(
  'extend',
  "UPDATE charges SET held = held + ? WHERE request = ? AND state = 'open'",
)
const HOLD_MORE = sql(
  'hold more',
  "UPDATE charges SET held = ? WHERE request = ? AND state = 'open' AND held < ?",
)
// With the plan's part of the whole hold: a call may take from its plan only when it goes on.
const EXTEND_PLANNED = sql(
  'extend planned',
  `UPDATE charges SET held = held + ?, plan = ?, plan_held = ?
   WHERE request = ? AND state = 'open'`,
)
const HOLD_MORE_PLANNED = sql(
  'hold more planned',
  `UPDATE charges SET held = ?, plan = ?, plan_held = ?
   WHERE request = ? AND state = 'open' AND held < ?`,
)
/** The same with the tokens that the plan pays. */
const withPlanTokens = ({ name, text }: Sql): Sql => ({
  name: `${name} in tokens`,
  text: text.replace('plan_held = ?', 'plan_held = ?, plan_tokens = ?'),
})
const EXTEND_PLAN_TOKENS = withPlanTokens(EXTEND_PLANNED)
const HOLD_MORE_PLAN_TOKENS = withPlanTokens(HOLD_MORE_PLANNED)

/** Rejects with CHARGE_EXISTS, or LEASE_GONE when the store has reaped the process. */
export const openCharge = (hold: Hold): Statement => insertHold(OPEN, hold)
/** The same with another INSERT of the columns of `OPEN`, the process last. */
export const insertHold = ({ plain, tokens }: HoldInsert, hold: Hold): Statement => ({
  sql: hold.tokens === undefined ? plain : tokens,
  values: [
    hold.request,
    hold.account,
    hold.key ?? null,
    hold.route,
    hold.model,
    hold.version,
    hold.rule,
    hold.heldAmount,
    hold.openedAt,
    hold.holdsKeyQuota ? 1 : 0,
    budgetsColumn(hold),
    ...planColumns(hold),
    memberColumn(hold),
    ...tokenColumns(hold),
    hold.process,
  ],
  rows: 1,
  otherwise: 'LEASE_GONE',
  violates: { 'charges.request': 'CHARGE_EXISTS', charges_pkey: 'CHARGE_EXISTS' },
})
/** JSON; null: no budget. */
export const budgetsColumn = ({ budgets = [] }: Pick<Hold, 'budgets'>): string | null =>
  budgets.length === 0 ? null : JSON.stringify(budgets)
/** 0: the account itself. Null is left to rows of versions that did not store it. */
export const memberColumn = ({ member = 0 }: Pick<Hold, 'member'>): number => member
/** `plan` and `plan_held`. */
export const planColumns = ({ plan }: Pick<Hold, 'plan'>) =>
  [plan?.wallet ?? null, plan?.amount ?? null] as const
/** `plan_tokens`, if the plan counts tokens. */
const planTokens = ({ tokens }: HeldPlan): readonly bigint[] =>
  tokens === undefined ? [] : [tokens]
/** `tokens_held` and `plan_tokens`, if the hold has tokens. */
export const tokenColumns = ({ tokens, plan }: Pick<Hold, 'tokens' | 'plan'>): readonly Value[] =>
  tokens === undefined ? [] : [tokens, plan?.tokens ?? null]
/** The wallets of budgets and of the plan in a row of `charges`. */
export const windowsOf = ({ budgets, plan }: Row): readonly number[] => [
  ...(typeof budgets === 'string' ? JSON.parse(budgets) : []),
  ...(plan == null ? [] : [Number(plan)]),
]
export type Pair = readonly [number, number]
/** Numbers by two, for statements that change two wallets; the last one may come twice. */
export const pairsOf = (wallets: readonly number[]): readonly Pair[] =>
  wallets.flatMap((wallet, at) => (at % 2 === 0 ? [[wallet, wallets[at + 1] ?? wallet]] : []))
/** The wallets of budgets that the amount was taken from, and those that only count it. */
const splitBudgets = (budgets: readonly number[]) => ({
  reserved: budgets.filter(wallet => wallet < 0),
  counted: budgets.filter(wallet => wallet > 0).map(wallet => -wallet),
})
export const budgetsIn = ({ budgets = [], tokens }: Pick<Hold, 'budgets' | 'tokens'>) =>
  splitBudgets(
    tokens === undefined ? budgets : budgets.filter(each => !countsTokens(-Math.abs(each))),
  )
/** The same of budgets in tokens. */
export const tokenBudgetsIn = ({ budgets = [], tokens }: Pick<Hold, 'budgets' | 'tokens'>) =>
  splitBudgets(tokens === undefined ? [] : budgets.filter(each => countsTokens(-Math.abs(each))))
/** An amount as a column can hold it: counts up to 2^53 may cost more nanos. */
export const columnValueOf = (nanos: bigint): bigint =>
  nanos < MAX_COLUMN_VALUE ? nanos : MAX_COLUMN_VALUE
/** The largest BIGINT. */
const MAX_COLUMN_VALUE = 2n ** 63n - 1n
/** A trigger updates the wallets. Rejects with CHARGE_CLOSED. */
export const settleCharge = (settlement: Settlement): Statement => ({
  sql: settlement.tokens ? SETTLE_TOKENS : SETTLE,
  values: [
    settlement.amount,
    columnValueOf(settlement.uncollected),
    settlement.isEstimated ? 1 : 0,
    settlement.usage,
    settlement.lines,
    settlement.closedAt,
    settlement.served ?? null,
    ...settledTokens(settlement),
    settlement.request,
  ],
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
  locks: settlement.wallets.map(lockOf),
})
const settledTokens = ({ tokens, planned }: Settlement): readonly Value[] =>
  tokens
    ? [tokens.used, tokens.heldTokens ?? null, planned?.amount ?? null, planned?.tokens ?? null]
    : []
/** Locks a row that a trigger will change. */
export const lockOf = (wallet: number) => ({ table: 'wallets', column: 'id', value: wallet })
/** Closes a hold without a charge. Rejects with CHARGE_CLOSED. */
export const releaseCharge = (request: string, closedAt: number): Statement => ({
  sql: RELEASE,
  values: [closedAt, request],
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
})
const RECOUNT = sql(
  'recount',
  "UPDATE charges SET budgets = ? WHERE request = ? AND state = 'open'",
)
/** Changes which budgets of an open charge hold its amount, and which only count it. */
export const recountCharge = (request: string, budgets: Hold['budgets']): Statement => ({
  sql: RECOUNT,
  values: [budgetsColumn({ budgets }), request],
})
/** Adds `by` nanos of the process's lease to the hold. `plan`: its part of the hold from then on.
 *  Rejects with CHARGE_CLOSED. */
export const extendCharge = (request: string, by: bigint, plan?: HeldPlan): Statement => ({
  ...(plan
    ? {
        sql: plan.tokens === undefined ? EXTEND_PLANNED : EXTEND_PLAN_TOKENS,
        values: [by, ...planColumns({ plan }), ...planTokens(plan), request],
      }
    : { sql: EXTEND, values: [by, request] }),
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
})
/** Raises a hold to `heldAmount` nanos if it is lower: after extensions whose result is unknown. */
export const holdAtLeast = (request: string, heldAmount: bigint, plan?: HeldPlan): Statement => {
  if (!plan) return { sql: HOLD_MORE, values: [heldAmount, request, heldAmount] }
  const part = { wallet: plan.wallet, amount: plannedOf(heldAmount, plan) }
  const columns = [...planColumns({ plan: part }), ...planTokens(plan)]
  return {
    sql: plan.tokens === undefined ? HOLD_MORE_PLANNED : HOLD_MORE_PLAN_TOKENS,
    values: [heldAmount, ...columns, request, heldAmount],
  }
}

// ---------------------------------------------------------------- leases (table `shares`)

const ROOM = 'balance + overdraft - reserved'
/** The largest part of the available balance that one lease gets. A nearly empty wallet grants only
 *  the minimum. */
const PART = `(${ROOM}) / 8`
const GRANT = sql(
  'grant',
  `UPDATE wallets SET granted = CASE WHEN ${PART} <= ? THEN ? WHEN ${PART} < ? THEN ${PART} ELSE ? END
   WHERE id = ? AND ${ROOM} >= ? RETURNING granted, balance`,
)
const RESERVE = sql('reserve', 'UPDATE wallets SET reserved = reserved + granted WHERE id = ?')
/** The part of a wallet that this process could get: not leased, or leased by other processes and
 *  unused. */
export const UNUSED_LEASES = sql(
  'unused leases',
  `SELECT w.balance + w.overdraft - w.reserved
     + coalesce((SELECT sum(s.amount) FROM shares s WHERE s.wallet = w.id AND s.process <> ?), 0)
     - coalesce((SELECT sum(CASE WHEN c.plan = w.id THEN coalesce(c.plan_tokens, c.plan_held)
             WHEN ${walletInSql.countsTokens('w.id')} THEN coalesce(c.tokens_held, 0)
             WHEN c.account = w.account THEN c.held - coalesce(c.plan_held, 0) ELSE c.held END)
           FROM charges c WHERE c.state = 'open' AND c.process <> ?
         AND (c.account = w.account OR (c.key = w.key AND coalesce(c.key_held, 1) = 1) OR c.plan = w.id
           OR (w.id < 0 AND replace(replace(c.budgets, '[', ','), ']', ',') LIKE '%,' || w.id || ',%'))), 0) AS room
   FROM wallets w WHERE w.id = ?`,
)
const RECORD_LEASE = whileRegistered(
  'ledger: record lease',
  `INSERT INTO shares (process, wallet, amount)
   SELECT ${PROCESSES_TABLE}.id, w.id, w.granted FROM ${PROCESSES_TABLE}, wallets w
   WHERE ${PROCESSES_TABLE}.id = ? AND w.id = ?`,
  `ON CONFLICT (process, wallet) DO UPDATE SET amount = shares.amount + excluded.amount
   RETURNING amount`,
)
const REDUCE_LEASE = sql(
  'reduce lease',
  'UPDATE shares SET amount = amount - ? WHERE process = ? AND wallet = ?',
)
const UNRESERVE = sql('unreserve', 'UPDATE wallets SET reserved = reserved - ? WHERE id = ?')

/** The balance of a wallet less the lease of this process. */
export const OUTSIDE = sql(
  'outside',
  `SELECT w.balance - coalesce(s.amount, 0) AS outside
   FROM wallets w LEFT JOIN shares s ON s.wallet = w.id AND s.process = ? WHERE w.id = ?`,
)
/** `room`: what may be leased now; `total`: what that will be if all leases return unused. */
export const ROOM_IN = sql(
  'room',
  `SELECT ${ROOM} AS room, balance + overdraft AS total FROM wallets WHERE id = ?`,
)
/** Latest first. Parameters: account, the id to end before, row count. */
export const CREDITS_OF: Sql = {
  name: 'ledger: credits of an account',
  text: `SELECT id, at, kind, amount, request, note FROM credits
   WHERE account = ? AND id < ? ORDER BY id DESC LIMIT ?`,
}
/** Nanos from a column. */
export const nanosOf = (value: Value | undefined): bigint =>
  typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : 0n

/** Leases at least `least` nanos, up to `preferredAmount`. The first statement returns `granted`
 *  and the wallet's `balance`, the last the `amount` of the whole lease. Rejects with INSUFFICIENT,
 *  or LEASE_GONE when the store has reaped the process. */
export const grantLease = (
  process: string,
  wallet: number,
  least: bigint,
  preferredAmount: bigint,
): readonly Statement[] => [
  {
    sql: GRANT,
    values: [least, least, preferredAmount, preferredAmount, wallet, least],
    rows: 1,
    otherwise: 'INSUFFICIENT',
  },
  { sql: RESERVE, values: [wallet], rows: 1 },
  { sql: RECORD_LEASE, values: [process, wallet], rows: 1, otherwise: 'LEASE_GONE' },
]
/** Rejects with LEASE_GONE when the store has reaped the process. */
export const returnLease = (
  process: string,
  wallet: number,
  amount: bigint,
): readonly Statement[] => [
  { sql: REDUCE_LEASE, values: [amount, process, wallet], rows: 1, otherwise: 'LEASE_GONE' },
  { sql: UNRESERVE, values: [amount, wallet], rows: 1 },
]

// ---------------------------------------------------------------- wallets and credits

const OPEN_WALLET = sql(
  'open wallet',
  `INSERT INTO wallets (id, balance, limited) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
)
const CREDIT = sql(
  'credit',
  `INSERT INTO credits (id, account, kind, amount, request, note, at)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM credits), ?, ?, ?, ?, ?, ?) RETURNING id`,
)
const OVERDRAFT = sql(
  'overdraft',
  `UPDATE wallets SET overdraft = ?, deepest = CASE WHEN deepest < ? THEN ? ELSE deepest END
   WHERE id = ?`,
)

/** Creates a wallet; an existing one stays unchanged. `quota`: nanos that it may spend; undefined:
 *  it only counts usage. */
export const openWallet = (wallet: number, quota: bigint | undefined): Statement => ({
  sql: OPEN_WALLET,
  values: [wallet, quota ?? 0n, quota === undefined ? 0 : 1],
})
export interface Credit {
  readonly account: number
  readonly kind: 'credit' | 'debit' | 'refund'
  /** Nanos. Negative for a debit. */
  readonly amount: bigint
  /** The refunded call. Unique: a call has at most one refund. */
  readonly request?: string
  /** The wallets of budgets and of the plan of the refunded call. */
  readonly windows?: readonly number[]
  readonly note: string
  readonly at: number
}
/** Returns `id` last. Rejects with OVERDRAWN, or ALREADY_REFUNDED. */
export const addCredit = (credit: Credit): Statement => ({
  sql: CREDIT,
  values: [
    credit.account,
    credit.kind,
    credit.amount,
    credit.request ?? null,
    credit.note,
    credit.at,
  ],
  rows: 1,
  locks: walletsOf(credit.account, undefined, credit.windows).map(lockOf),
  violates: {
    covered: 'OVERDRAWN',
    'credits.request': 'ALREADY_REFUNDED',
    credits_request_key: 'ALREADY_REFUNDED',
  },
})
/** Sets how many nanos below zero the balance may be. Rejects with OVERDRAWN if it is lower
 *  already. */
export const setOverdraft = (wallet: number, overdraft: bigint): Statement => ({
  sql: OVERDRAFT,
  values: [overdraft, overdraft, overdraft, wallet],
  rows: 1,
  otherwise: 'ACCOUNT_UNKNOWN',
  violates: { covered: 'OVERDRAWN' },
})
