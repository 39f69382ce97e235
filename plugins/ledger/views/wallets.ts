/** Wallet operations for other folders: balances, quotas, credits, and a trigger for a falling
 *  balance. */
import type { Database, Migration, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { MAX_AMOUNT } from '../../billing/money.ts'
import { addCredit, type Credit, nanosOf, openWallet, ROOM_IN } from '../statements.ts'
import { walletOf } from '../wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

// ---------------------------------------------------------------- reading

const WALLET = sql('wallet', 'SELECT balance, used, overdraft FROM wallets WHERE id = ?')

/** Undefined: the account never had a credit. */
export const readWallet = async (
  database: Pick<Database, 'read'>,
  account: number,
): Promise<Row | undefined> => {
  const [row] = await database.read(WALLET, [walletOf.account(account)])
  return row
}
/** Nanos of an account that may be spent now, and `total`: those if nothing were reserved. */
export const fundsOf = async (
  database: Pick<Database, 'read'>,
  account: number,
): Promise<{ readonly available: bigint; readonly total: bigint }> => {
  const [row] = await database.read(ROOM_IN, [walletOf.account(account)])
  return { available: nanosOf(row?.room), total: nanosOf(row?.total) }
}
/** Adds funds to the rows of a query on keys: those of the account (`balance`, `used`) and of the
 *  key's quota (`own_balance`, `own_used`). `keys` must select `id` and `account`. */
export const withFunds = (keys: string): string => `
  SELECT k.*, w.balance, w.used, o.balance AS own_balance, o.used AS own_used FROM (${keys}) k
    LEFT JOIN wallets w ON w.account = k.account LEFT JOIN wallets o ON o.key = k.id ORDER BY k.id`
/** Joins the wallets of accounts, `a`, as `w`: their columns are null before the first credit. */
export const JOIN_WALLETS = 'LEFT JOIN wallets w ON w.account = a.id'
/** Adds `balance`, `used` and `overdraft` to the rows of a query on accounts, which must select
 *  `id`. `order` refers to accounts as `a`, to wallets as `w`. */
export const withBalances = (accounts: string, order = 'a.id'): string => `
  SELECT a.*, w.balance, w.used, w.overdraft FROM (${accounts}) a ${JOIN_WALLETS}
    ORDER BY ${order}`
/** A subquery: the balance of an account; 0 without a wallet. `account`: a parameter or a
 *  column. */
export const balanceInSql = (account: string): string =>
  `coalesce((SELECT balance FROM wallets WHERE account = ${account}), 0)`

// ---------------------------------------------------------------- changing

// Serialises the list with concurrent charges.
const LOCK = sql('lock wallet', 'UPDATE wallets SET granted = granted WHERE id = ?')
/** Locks a wallet: later statements of the list read a stable balance. */
export const lockWallet = (account: number): Statement => ({
  sql: LOCK,
  values: [walletOf.account(account)],
})

// A balance never exceeds the largest amount, so that sums stay exact in every store.
const CREDIT_LIMIT = sql(
  'limit credit',
  'UPDATE wallets SET balance = balance WHERE id = ? AND balance <= ?',
)
/** Adds a credit; creates the wallet on the first one. Returns `id` last. Rejects with
 *  CREDIT_TOO_LARGE, or like `addCredit`. */
export const creditAccount = (credit: Credit): readonly Statement[] => {
  const wallet = walletOf.account(credit.account)
  const room = [wallet, MAX_AMOUNT - credit.amount]
  return [
    openWallet(wallet, 0n),
    { sql: CREDIT_LIMIT, values: room, rows: 1, otherwise: 'CREDIT_TOO_LARGE' },
    addCredit(credit),
  ]
}

// Usage stays: only the remaining quota changes. Processes may have leased some of it.
const CHANGE_QUOTA = sql(
  'change quota',
  'UPDATE wallets SET balance = CAST(? AS BIGINT) - used WHERE id = ? AND CAST(? AS BIGINT) - used >= reserved',
)
const REMOVE_LIMIT = sql('remove limit', 'UPDATE wallets SET limited = 0 WHERE id = ?')

/** Changes the quota of a key, in nanos; undefined: no quota. Running calls end under their terms:
 *  one without a hold of the quota may still be charged to it, so such a wallet has no constraint.
 *  Rejects with QUOTA_IN_USE. */
export const changeQuota = (
  key: number,
  before: bigint | undefined,
  after: bigint | undefined,
): readonly Statement[] => {
  const wallet = walletOf.key(key)
  return [
    // Create the wallet first, or a process with outdated data would create it with the old quota.
    openWallet(wallet, after),
    ...(before === undefined || after === undefined
      ? [{ sql: REMOVE_LIMIT, values: [wallet] }]
      : []),
    ...(after === undefined ? [] : [updateQuota(wallet, after)]),
  ]
}
const updateQuota = (wallet: number, nanos: bigint): Statement => ({
  sql: CHANGE_QUOTA,
  values: [nanos, wallet, nanos],
  rows: 1,
  otherwise: 'QUOTA_IN_USE',
})

// ---------------------------------------------------------------- triggers

/** ms since 1970, in SQL. */
export const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
export const NOW_ON_POSTGRES = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'

/** A trigger that runs a statement in the transaction that lowers the balance of an account;
 *  replaces a trigger of the same name. The statement may use NEW.account, NEW.balance, OLD.balance
 *  and `now`. `call`: the name of the trigger's function on PostgreSQL, which may exist already. */
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
