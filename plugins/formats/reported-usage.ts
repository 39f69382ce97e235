/** Reads the usage counts that an upstream sends, and reports invalid ones. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Meters } from '../slots.ts'
import { count, type Fields, isCount, isFields } from './fields.ts'
import type { UsageFacts } from './format.ts'

export interface ReportedUsage {
  readonly meters: Meters
  /** The input is counted; otherwise its remainder is estimated. */
  readonly isInputReported: boolean
  /** The same for the output. */
  readonly isOutputReported: boolean
  /** Names of counts that are negative, fractional, not finite, above 2^53, or not numbers. */
  readonly invalidNames: readonly string[]
}

export const readReportedUsage = (
  { sums, meters }: Pick<UsageFacts, 'sums' | 'meters'>,
  counts: Fields | undefined,
): ReportedUsage => {
  if (!counts) return NOT_REPORTED
  const invalid = invalidIn(counts, [...sums.input, ...sums.output])
  // The first member is the sum; without it, another member may be the only count.
  const isReported = ([sum = '', ...others]: readonly string[]): boolean =>
    (isCount(counts[sum]) || others.some(name => count(counts[name]) > 0)) &&
    ![sum, ...others].some(name => invalid.includes(name))
  const [isInputReported, isOutputReported] = [isReported(sums.input), isReported(sums.output)]
  return {
    meters: meters(counts),
    isInputReported: isInputReported,
    isOutputReported: isOutputReported,
    invalidNames: invalid,
  }
}
const NOT_REPORTED: ReportedUsage = {
  meters: {},
  isInputReported: false,
  isOutputReported: false,
  invalidNames: [],
}

/** Names of counts of tokens and calls. Other numbers (a price, a time) may be fractions; totals
 *  are not charged. */
const COUNT_NAME = /^(?!total)(?:.*_tokens|.*[tT]okenCount|.*_requests)$/

const invalidIn = (counts: Fields, sums: readonly string[]): readonly string[] => {
  const names = new Set<string>()
  const visit = (value: Json | undefined, name: string): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, name)
    else if (isFields(value)) for (const key in value) visit(value[key], key)
    else if (COUNT_NAME.test(name) && typeof value === 'number' && !isCount(value)) names.add(name)
  }
  for (const name in counts) {
    const value = counts[name]
    const isSum = sums.includes(name) && value !== null && value !== undefined
    if (isSum && !isCount(value)) names.add(name)
    else visit(value, name)
  }
  return [...names]
}

/** Merges the counts of an event into the earlier ones; missing and null members change nothing. */
export const mergeCounts = (earlier: Fields | undefined, later: Fields): Fields => {
  const result: { [key: string]: Json } = { ...earlier }
  for (const name in later) {
    const value = later[name]
    if (value !== null && value !== undefined) result[name] = value
  }
  return result
}

/** A part of a count, limited to the whole. */
export const partOf = (part: Json | undefined, whole: number): number =>
  Math.min(count(part), whole)
