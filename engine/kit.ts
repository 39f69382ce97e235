/** Small functions that the engine and plugins share. Imports types only. */
import type { Bytes, Json } from './plugin.ts'

/** Whether a value is an object with members: neither null nor an array. */
export const isFields = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same memory as a Buffer. */
export const asBuffer = (bytes: Bytes): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** Whether what was thrown has one of these codes. */
export const isCode = (thrown: unknown, ...codes: readonly string[]): boolean =>
  codes.includes((thrown as { readonly code?: string } | null)?.code ?? '')

/** ms. */
export const DURATIONS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Bytes. */
export const SIZES = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30 }
/** `1.5h` or `8MiB` as a number; without a unit the number itself. The text must have been checked. */
export const amountIn = (text: string, units: Readonly<Record<string, number>>): number =>
  Math.round(Number.parseFloat(text) * (units[text.replace(/^[0-9.]+/, '')] ?? 1))

/** The word of `words` that was probably meant: one slip away, or two in a word of six letters and more. */
export const nearest = (word: string, words: Iterable<string>): string | undefined => {
  const typed = plain(word)
  let best: string | undefined
  let least = word.length < 6 ? 2 : 3
  for (const candidate of words) {
    if (candidate === word || Math.abs(candidate.length - word.length) > 3) continue
    const far = distance(typed, plain(candidate), least)
    if (far < least) [best, least] = [candidate, far]
  }
  return best
}

/** Case, and the choice between `-`, `_` and a space, make no difference. */
const plain = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '')

/** Edits that lead from one to the other, two swapped letters counting once; gives up at `limit`. */
const distance = (from: string, to: string, limit: number): number => {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      if (!same && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        cost = Math.min(cost, at(before, j - 2) + 1)
      row.push(cost)
    }
    if (Math.min(...row) >= limit) return limit
    before = last
    last = row
  }
  return at(last, to.length)
}
const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
