/** Texts of a new configuration: free names, names of models, amounts. Pure. */

/** A name that is not used yet: `base`, or with the first free number. */
export const freeName = (
  base: string,
  isUsed: (name: string) => boolean,
  first = 2,
  longest = Number.POSITIVE_INFINITY,
): string => {
  let name = base
  for (let number = first; isUsed(name); number++)
    name = `${base.slice(0, longest - 1 - String(number).length)}-${number}`
  return name
}

/** At most 9 places, without an exponent. */
export const decimal = (amount: number): string => amount.toFixed(9).replace(/\.?0+$/, '')
/** An amount for a price: without the errors of binary fractions. */
export const usd = (amount: number): string => decimal(Number(amount.toPrecision(12)))

/** A name of a model: a `{` would begin a pattern. */
export const modelName = (name: string): string => name.replace(/[{}\s]/g, '-')

/** The variable of a key of an upstream. `number`: 0 if the upstream has one key. */
export const variableName = (upstream: string, number = 0): string =>
  `${upstream.toUpperCase().replaceAll('-', '_')}_KEY${number === 0 ? '' : `_${number}`}`
