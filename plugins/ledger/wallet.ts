/** Maps accounts, keys and windows to wallet numbers, so that the store finds a wallet by its
 *  primary key. */
import { createHash } from 'node:crypto'

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

/** The unit of the amounts of a wallet: nanos or tokens. */
export type Unit = 'money' | 'tokens'
/** Windows in tokens have numbers below this one, all others above it: no row needs to say what a
 *  wallet counts. */
const TOKENS_BELOW = -(2 ** 52)
export const countsTokens = (wallet: number): boolean => wallet < TOKENS_BELOW

/** The wallet of a window of a budget or a plan: an odd number below zero, by 50 bits of a digest,
 *  so that no process has to ask for the next one. */
export const windowWallet = (text: string, unit: Unit = 'money'): number => {
  const bytes = createHash('sha256').update(text).digest()
  const number = -(2 * Number(bytes.readBigUInt64BE() >> 14n) + 1)
  return unit === 'tokens' ? number + TOKENS_BELOW : number
}

/** Wallet numbers in triggers: of the account or key in a column. */
export const walletInSql = {
  account: (column: string): string => `${column} * 2`,
  key: (column: string): string => `${column} * 2 + 1`,
  isAccount: (id: string): string => `${id} % 2 = 0`,
  countsTokens: (id: string): string => `${id} < ${TOKENS_BELOW}`,
}
/** The generated owner columns of `wallets`; one of them is null. Statements use these columns. */
export const OWNER_COLUMNS = {
  account: 'CASE WHEN id % 2 = 0 THEN id / 2 END',
  key: 'CASE WHEN id % 2 = 1 THEN id / 2 END',
} as const
