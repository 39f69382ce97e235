/** Maps accounts and keys to wallet numbers, so that the store finds a wallet by its primary
 *  key. */

/** The wallet of an account, or of one of its keys. */
export const walletOf = {
  account: (id: number): number => id * 2,
  key: (id: number): number => id * 2 + 1,
}
/** The wallets that a charge changes; `budgets`: as in `charges.budgets`. */
export const walletsOf = (
  account: number,
  key: number | undefined,
  budgets: readonly number[] = [],
): readonly number[] => [
  walletOf.account(account),
  ...(key === undefined ? [] : [walletOf.key(key)]),
  ...budgets.map(wallet => -Math.abs(wallet)),
]

/** Wallet numbers in triggers: of the account or key in a column. */
export const walletInSql = {
  account: (column: string): string => `${column} * 2`,
  key: (column: string): string => `${column} * 2 + 1`,
  isAccount: (id: string): string => `${id} % 2 = 0`,
}
/** The generated owner columns of `wallets`; one of them is null. Statements use these columns. */
export const OWNER_COLUMNS = {
  account: 'CASE WHEN id % 2 = 0 THEN id / 2 END',
  key: 'CASE WHEN id % 2 = 1 THEN id / 2 END',
} as const
