/** The data that a chart draws: days and series. */
export interface Series {
  readonly name: string
  readonly values: readonly number[]
  /** Of something that went wrong. */
  readonly isError?: boolean
}
/** The variable of its colour. */
export const variableOf = ({ isError = false }: Series, index: number): string =>
  isError ? '--error' : `--series-${index + 1}`
export interface ChartData {
  /** Seconds since 1970, at midnight UTC. */
  readonly days: readonly number[]
  readonly series: readonly Series[]
  readonly kind: 'bars' | 'lines'
  format(value: number): string
}
