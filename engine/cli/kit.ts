/** Helpers of engine and plugin commands. */
import { isCode } from '../kit.ts'

/** Exit codes of every command. */
export const EXIT = { ok: 0, problems: 1, usage: 2, runTime: 3 } as const

/** Wrong usage of a command: exit code 2. */
export class UsageError extends Error {
  // A plugin bundle has its own copy of this class, so `instanceof` does not work.
  readonly code = 'USAGE'
}
export const isUsageError = (error: unknown): boolean => isCode(error, 'USAGE')

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Formats rows as lines, with cells in columns of equal width. */
export const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return rows.map(row =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
