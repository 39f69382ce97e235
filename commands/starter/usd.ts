/** An amount for a price: a decimal without an exponent and without the errors of binary fractions,
 *  with at most 9 places. */
export const usd = (amount: number): string =>
  Number(amount.toPrecision(12))
    .toFixed(9)
    .replace(/\.?0+$/, '')
