/** Pure statements over the ledger: whoever writes may put them into one list with their own. */
import type { Sql, Statement, Value } from '../../engine/plugin.ts'
import { PROCESSES_TABLE, whileRegistered } from '../../engine/store/registered.ts'
import { walletOf } from './wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

// ---------------------------------------------------------------- charges

/** A call that is paid for, from before its first byte on. */
export interface Hold {
  readonly request: string
  readonly account: number
  readonly key: number | undefined
  /** Whether it was taken from the key's quota too. */
  readonly keyHeld: boolean
  /** Whose shares it was taken from. */
  readonly process: string
  readonly route: string
  readonly model: string
  /** The configuration whose prices it is held at, and the rule itself: a reload changes neither. */
  readonly version: number
  readonly rule: string
  /** Nanos. */
  readonly held: bigint
  /** ms since 1970. */
  readonly opened: number
}
/** What a call has cost. `amount` is never more than what is held for it. */
export interface Settlement {
  readonly request: string
  readonly amount: bigint
  /** What it cost beyond that. */
  readonly uncollected: bigint
  readonly estimated: boolean
  /** JSON. */
  readonly usage: string
  readonly lines: string
  readonly closed: number
  /** Of the account and its key: the trigger changes them. */
  readonly wallets: readonly number[]
}

const OPEN = whileRegistered(
  'ledger: open',
  `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, opened, key_held)
   SELECT ?, ?, ?, id, ?, ?, ?, ?, 'open', ?, ?, CAST(? AS BIGINT) FROM ${PROCESSES_TABLE} WHERE id = ?`,
)
/** The place of a charge among the credits: behind those that are in the books by now. What pays for
 *  the charge was leased before, so that every credit it needs is among them. */
export const SERIAL_NOW = '(SELECT coalesce(max(id), 0) FROM credits)'
const SETTLE = sql(
  'settle',
  `UPDATE charges SET state = 'settled', serial = ${SERIAL_NOW}, amount = ?, uncollected = ?,
     estimated = ?, usage = ?, lines = ?, closed = ?
   WHERE request = ? AND state = 'open'`,
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

/** Rejects with CHARGE_EXISTS, or SHARE_GONE when the process was taken for dead: nobody would bury it twice. */
export const openCharge = (hold: Hold): Statement => ({
  sql: OPEN,
  values: [
    ...[hold.request, hold.account, hold.key ?? null, hold.route, hold.model],
    ...[hold.version, hold.rule, hold.held, hold.opened, hold.keyHeld ? 1 : 0, hold.process],
  ],
  rows: 1,
  otherwise: 'SHARE_GONE',
  violates: { 'charges.request': 'CHARGE_EXISTS', charges_pkey: 'CHARGE_EXISTS' },
})
/** The wallets follow by themselves. Rejects with CHARGE_CLOSED. */
export const settleCharge = (settlement: Settlement): Statement => ({
  sql: SETTLE,
  values: [
    ...[settlement.amount, settlement.uncollected, settlement.estimated ? 1 : 0],
    ...[settlement.usage, settlement.lines, settlement.closed, settlement.request],
  ],
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
  locks: settlement.wallets.map(lockOf),
})
/** The rows that a trigger changes behind a statement's back. */
export const lockOf = (wallet: number) => ({ table: 'wallets', column: 'id', value: wallet })
/** Nothing is charged. Rejects with CHARGE_CLOSED. */
export const releaseCharge = (request: string, closed: number): Statement => ({
  sql: RELEASE,
  values: [closed, request],
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
})
/** More of the process's share is held for it. Rejects with CHARGE_CLOSED. */
export const extendCharge = (request: string, by: bigint): Statement => ({
  sql: EXTEND,
  values: [by, request],
  rows: 1,
  otherwise: 'CHARGE_CLOSED',
})
/** As much as that, where it is less: for whoever cannot know which of its extensions came through. */
export const holdAtLeast = (request: string, held: bigint): Statement => ({
  sql: HOLD_MORE,
  values: [held, request, held],
})

// ---------------------------------------------------------------- shares

const ROOM = 'balance + overdraft - reserved'
/** One share may take this part of what is left; a wallet with little left gives no more than is needed now. */
const PART = `(${ROOM}) / 8`
const GRANT = sql(
  'grant',
  `UPDATE wallets SET granted = CASE WHEN ${PART} <= ? THEN ? WHEN ${PART} < ? THEN ${PART} ELSE ? END
   WHERE id = ? AND ${ROOM} >= ? RETURNING granted, balance`,
)
const RESERVE = sql('reserve', 'UPDATE wallets SET reserved = reserved + granted WHERE id = ?')
/** What other processes than this one have of a wallet and hold for no call, and what nobody has. */
export const ELSEWHERE = sql(
  'elsewhere',
  `SELECT w.balance + w.overdraft - w.reserved
     + coalesce((SELECT sum(s.amount) FROM shares s WHERE s.wallet = w.id AND s.process <> ?), 0)
     - coalesce((SELECT sum(c.held) FROM charges c WHERE c.state = 'open' AND c.process <> ?
         AND (c.account = w.account OR (c.key = w.key AND coalesce(c.key_held, 1) = 1))), 0) AS room
   FROM wallets w WHERE w.id = ?`,
)
const KEEP_SHARE = whileRegistered(
  'ledger: keep share',
  `INSERT INTO shares (process, wallet, amount)
   SELECT ${PROCESSES_TABLE}.id, w.id, w.granted FROM ${PROCESSES_TABLE}, wallets w
   WHERE ${PROCESSES_TABLE}.id = ? AND w.id = ?`,
  `ON CONFLICT (process, wallet) DO UPDATE SET amount = shares.amount + excluded.amount
   RETURNING amount`,
)
const SHRINK = sql(
  'shrink share',
  'UPDATE shares SET amount = amount - ? WHERE process = ? AND wallet = ?',
)
const UNRESERVE = sql('unreserve', 'UPDATE wallets SET reserved = reserved - ? WHERE id = ?')

/** What a wallet has beside what this process has of it. */
export const OUTSIDE = sql(
  'outside',
  `SELECT w.balance - coalesce(s.amount, 0) AS outside
   FROM wallets w LEFT JOIN shares s ON s.wallet = w.id AND s.process = ? WHERE w.id = ?`,
)
export const ROOM_IN = sql('room', `SELECT ${ROOM} AS room FROM wallets WHERE id = ?`)
/** An amount as the store tells it. */
export const nanosOf = (value: Value | undefined): bigint =>
  typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : 0n

/** At least `least`, `wanted` where there is plenty. The first statement returns `granted` and the wallet's `balance`, the
 *  last the `amount` of the whole share. Rejects with INSUFFICIENT, or SHARE_GONE when the process was taken for dead. */
export const leaseShare = (
  process: string,
  wallet: number,
  least: bigint,
  wanted: bigint,
): readonly Statement[] => [
  {
    sql: GRANT,
    values: [least, least, wanted, wanted, wallet, least],
    rows: 1,
    otherwise: 'INSUFFICIENT',
  },
  { sql: RESERVE, values: [wallet], rows: 1 },
  { sql: KEEP_SHARE, values: [process, wallet], rows: 1, otherwise: 'SHARE_GONE' },
]
/** Rejects with SHARE_GONE when the process was taken for dead. */
export const returnShare = (
  process: string,
  wallet: number,
  amount: bigint,
): readonly Statement[] => [
  { sql: SHRINK, values: [amount, process, wallet], rows: 1, otherwise: 'SHARE_GONE' },
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

/** Harmless when it is there: it stays as it is then. `quota`: nanos it may spend; undefined: it only counts. */
export const openWallet = (wallet: number, quota: bigint | undefined): Statement => ({
  sql: OPEN_WALLET,
  values: [wallet, quota ?? 0n, quota === undefined ? 0 : 1],
})
export interface Credit {
  readonly account: number
  readonly kind: 'credit' | 'debit' | 'refund'
  /** Nanos; of a debit below zero: what was given too much is taken back. */
  readonly amount: bigint
  /** What is refunded: each call once. */
  readonly request?: string
  readonly note: string
  readonly at: number
}
/** Returns `id` last. Rejects with OVERDRAWN, or ALREADY_REFUNDED. */
export const addCredit = (credit: Credit): Statement => ({
  sql: CREDIT,
  values: [
    ...[credit.account, credit.kind, credit.amount, credit.request ?? null],
    ...[credit.note, credit.at],
  ],
  rows: 1,
  locks: [lockOf(walletOf.account(credit.account))],
  violates: {
    covered: 'OVERDRAWN',
    'credits.request': 'ALREADY_REFUNDED',
    credits_request_key: 'ALREADY_REFUNDED',
  },
})
/** Nanos below zero that the account may go. Rejects with OVERDRAWN when it is further down already. */
export const setOverdraft = (wallet: number, overdraft: bigint): Statement => ({
  sql: OVERDRAFT,
  values: [overdraft, overdraft, overdraft, wallet],
  rows: 1,
  otherwise: 'ACCOUNT_UNKNOWN',
  violates: { covered: 'OVERDRAWN' },
})
