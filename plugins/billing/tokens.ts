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

/** The columns of a row of sums, as customers and operators read them. `row.input` is without the
 *  cached part. */
export const tokenColumns = (row: {
  readonly input?: unknown
  readonly cached?: unknown
  readonly output?: unknown
}) => {
  const cached = Number(row.cached ?? 0)
  return {
    input_tokens: Number(row.input ?? 0) + cached,
    cached_tokens: cached,
    output_tokens: Number(row.output ?? 0),
  }
}
export const TOKEN_COLUMNS = ['input_tokens', 'cached_tokens', 'output_tokens'] as const
