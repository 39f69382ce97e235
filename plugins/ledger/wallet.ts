/** Whose wallet is which: the one place that knows how its number comes about. A number, so that the
 *  store finds a wallet by its primary key. */

/** An account's wallet, or that of one of its keys. */
export const walletOf = {
  account: (id: number): number => id * 2,
  key: (id: number): number => id * 2 + 1,
}
/** Those that a charge changes. */
export const walletsOf = (account: number, key: number | undefined): readonly number[] =>
  key === undefined ? [walletOf.account(account)] : [walletOf.account(account), walletOf.key(key)]

/** The same for triggers: the number of the wallet of what a column names. */
export const walletInSql = {
  account: (column: string): string => `${column} * 2`,
  key: (column: string): string => `${column} * 2 + 1`,
  isAccount: (id: string): string => `${id} % 2 = 0`,
}
/** The columns of `wallets` that say whose it is; the other one is null. Statements go by them. */
export const OWNER_COLUMNS = {
  account: 'CASE WHEN id % 2 = 0 THEN id / 2 END',
  key: 'CASE WHEN id % 2 = 1 THEN id / 2 END',
} as const
