/** Which wallet is whose. One number, so that the store finds it by its primary key. */

/** An account's wallet, or that of one of its keys. */
export const walletOf = {
  account: (id: number): number => id * 2,
  key: (id: number): number => id * 2 + 1,
}
/** Those that a charge changes. */
export const walletsOf = (account: number, key: number | undefined): readonly number[] =>
  key === undefined ? [walletOf.account(account)] : [walletOf.account(account), walletOf.key(key)]
