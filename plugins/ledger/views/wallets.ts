/** What others read of wallets and change in them: balances, quotas, credits of an operator, and what
 *  follows when a balance falls. */
import type { Database, Migration, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { MOST } from '../../billing/money.ts'
import { addCredit, type Credit, openWallet } from '../statements.ts'
import { walletOf } from '../wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

// ---------------------------------------------------------------- reading

const WALLET = sql('wallet', 'SELECT balance, used, overdraft FROM wallets WHERE id = ?')

/** Undefined: the account was never given anything. */
export const readWallet = async (
  database: Pick<Database, 'read'>,
  account: number,
): Promise<Row | undefined> => {
  const [row] = await database.read(WALLET, [walletOf.account(account)])
  return row
}
/** The rows of a query on keys, each with what its account has (`balance`, `used`) and what is left of its
 *  own quota (`own_balance`, `own_used`). `keys` selects, among others, `id` and `account`. */
export const withFunds = (keys: string): string => `
  SELECT k.*, w.balance, w.used, o.balance AS own_balance, o.used AS own_used FROM (${keys}) k
    LEFT JOIN wallets w ON w.account = k.account LEFT JOIN wallets o ON o.key = k.id ORDER BY k.id`
/** The balance of an account, 0 where it has no wallet, within a statement. `account`: a parameter or a column. */
export const balanceInSql = (account: string): string =>
  `coalesce((SELECT balance FROM wallets WHERE account = ${account}), 0)`

// ---------------------------------------------------------------- changing

// A charge beside the list waits for it, or the list for the charge.
const LOCK = sql('lock wallet', 'UPDATE wallets SET granted = granted WHERE id = ?')
/** What stands behind it in a list sees the balance as it is when the list is applied. */
export const lockWallet = (account: number): Statement => ({
  sql: LOCK,
  values: [walletOf.account(account)],
})

// No wallet holds more than an amount may be: its sums then stay whole numbers in every store.
const ROOM = sql('room for', 'UPDATE wallets SET balance = balance WHERE id = ? AND balance <= ?')
/** An account has a wallet from its first credit on. Returns `id` last. Rejects with CREDIT_TOO_LARGE,
 *  or as `addCredit`. */
export const creditAccount = (credit: Credit): readonly Statement[] => {
  const wallet = walletOf.account(credit.account)
  const room = [wallet, MOST - credit.amount]
  return [
    openWallet(wallet, 0n),
    { sql: ROOM, values: room, rows: 1, otherwise: 'CREDIT_TOO_LARGE' },
    addCredit(credit),
  ]
}

// What is used stays used: only what is left of it moves. A process may have some of it in its share.
const REQUOTA = sql(
  'requota',
  'UPDATE wallets SET balance = CAST(? AS BIGINT) - used WHERE id = ? AND CAST(? AS BIGINT) - used >= reserved',
)
const UNGUARD = sql('unguard', 'UPDATE wallets SET limited = 0 WHERE id = ?')

/** What a key may spend, nanos, in place of what it might so far; undefined: as much as its account has, on
 *  either side. Calls under way end as they began: one that held nothing of a quota is charged to it all the
 *  same, which is why no constraint guards it any more. Rejects with QUOTA_IN_USE. */
export const changeQuota = (
  key: number,
  before: bigint | undefined,
  after: bigint | undefined,
): readonly Statement[] => {
  const wallet = walletOf.key(key)
  return [
    // Before a process that has not heard of it yet opens it with the old one.
    openWallet(wallet, after),
    ...(before === undefined || after === undefined ? [{ sql: UNGUARD, values: [wallet] }] : []),
    ...(after === undefined ? [] : [requota(wallet, after)]),
  ]
}
const requota = (wallet: number, nanos: bigint): Statement => ({
  sql: REQUOTA,
  values: [nanos, wallet, nanos],
  rows: 1,
  otherwise: 'QUOTA_IN_USE',
})

// ---------------------------------------------------------------- following

const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
const NOW_ON_POSTGRES = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'

/** A trigger, in place of an earlier one of its name, that runs a statement in the transaction in which the
 *  balance of an account falls. The statement knows NEW.account, NEW.balance, OLD.balance and the time.
 *  `call`: the name of the function on PostgreSQL, there already or not. */
export const whenBalanceFalls = (
  { name, call }: { readonly name: string; readonly call: string },
  statement: (now: string) => string,
): Omit<Migration, 'number'> => {
  const when = 'NEW.balance < OLD.balance AND NEW.account IS NOT NULL'
  return {
    text: `DROP TRIGGER IF EXISTS ${name};
  CREATE TRIGGER ${name} AFTER UPDATE OF balance ON wallets
    WHEN ${when} BEGIN ${statement(NOW)}; END`,
    postgres: `DROP TRIGGER IF EXISTS ${name} ON wallets;
  CREATE OR REPLACE FUNCTION ${call}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${statement(NOW_ON_POSTGRES)}; RETURN NULL; END $$;
  CREATE TRIGGER ${name} AFTER UPDATE OF balance ON wallets FOR EACH ROW
    WHEN (${when}) EXECUTE FUNCTION ${call}()`,
  }
}
