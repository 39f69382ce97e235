/** Reads the counts that an upstream reports, and says which of them cannot be believed. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Meters } from '../slots.ts'
import { count, type Fields, isCount, isFields } from './fields.ts'
import type { UsageFacts } from './format.ts'

export interface ReportedUsage {
  readonly meters: Meters
  /** What was read is counted; otherwise the rest of it is estimated. */
  readonly read: boolean
  /** The same of what was written. */
  readonly written: boolean
  /** Names of counts that are negative, fractional, not finite, beyond 2^53, or no numbers. */
  readonly invalid: readonly string[]
}

export const reportedUsage = (
  { sums, meters }: Pick<UsageFacts, 'sums' | 'meters'>,
  counts: Fields | undefined,
): ReportedUsage => {
  if (!counts) return NOT_REPORTED
  const invalid = invalidIn(counts, [...sums.read, ...sums.written])
  // The first is the sum; where it is left out, another may be all there is.
  const isTold = ([sum = '', ...beside]: readonly string[]): boolean =>
    (isCount(counts[sum]) || beside.some(name => count(counts[name]) > 0)) &&
    ![sum, ...beside].some(name => invalid.includes(name))
  const [read, written] = [isTold(sums.read), isTold(sums.written)]
  return { meters: meters(counts), read, written, invalid }
}
const NOT_REPORTED: ReportedUsage = { meters: {}, read: false, written: false, invalid: [] }

/** Names of counts of tokens and of calls. Other numbers (a price, a time) may be fractions; totals are not charged. */
const COUNT = /^(?!total)(?:.*_tokens|.*[tT]okenCount|.*_requests)$/

const invalidIn = (counts: Fields, sums: readonly string[]): readonly string[] => {
  const names = new Set<string>()
  const visit = (value: Json | undefined, name: string): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, name)
    else if (isFields(value)) for (const key in value) visit(value[key], key)
    else if (COUNT.test(name) && typeof value === 'number' && !isCount(value)) names.add(name)
  }
  for (const name in counts) {
    const value = counts[name]
    const isSum = sums.includes(name) && value !== null && value !== undefined
    if (isSum && !isCount(value)) names.add(name)
    else visit(value, name)
  }
  return [...names]
}

/** Counts of one event added to those before: what is left out or null says nothing. */
export const mergedCounts = (known: Fields | undefined, more: Fields): Fields => {
  const all: { [key: string]: Json } = { ...known }
  for (const name in more) {
    const value = more[name]
    if (value !== null && value !== undefined) all[name] = value
  }
  return all
}

/** A part that is counted inside its whole. */
export const partOf = (part: Json | undefined, whole: number): number =>
  Math.min(count(part), whole)
