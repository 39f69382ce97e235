/** Small helpers of this folder: rows, times and error codes of the store. */
export const isoTime = (ms: unknown): string => new Date(Number(ms)).toISOString()
export const jsonOf = <T>(text: unknown): T | null =>
  typeof text === 'string' ? (JSON.parse(text) as T) : null

/** Replaces an error of the store that has this code. */
export const whenCode =
  (code: string, make: () => Error) =>
  (error: { readonly code?: string }): never => {
    throw error.code === code ? make() : error
  }

/** The printed part of one row. */
export const singleRow = (cells: Readonly<Record<string, string | number | null>>) => {
  return { rows: [cells], json: cells }
}
