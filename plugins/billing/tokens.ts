/** Sums of the meters of text that customers and operators read as tokens. Pure. */
export interface Tokens {
  /** Of the whole prompt. */
  readonly input: number
  /** The part of it that the upstream read from its cache. */
  readonly cached: number
  /** Thinking included. */
  readonly output: number
}
export const tokensIn = (meters: Readonly<Record<string, number | undefined>>): Tokens => {
  const { input = 0, cached = 0, cache_write: short = 0, cache_write_1h: long = 0 } = meters
  const { output = 0, thinking = 0 } = meters
  return { input: input + cached + short + long, cached, output: output + thinking }
}
