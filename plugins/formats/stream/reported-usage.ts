/** Reads the usage counts that an upstream sends, and reports invalid ones. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, isCount, isFields } from '../fields.ts'
import type { UsageFacts } from '../format.ts'

export interface ReportedUsage {
  readonly meters: Meters
  /** Whether the upstream sent a valid count of the input; if not, the gateway estimates it. */
  readonly isInputReported: boolean
  /** The same for the output. */
  readonly isOutputReported: boolean
  /** Names of counts that are negative, fractional, not finite, above 2^53, or not numbers. */
  readonly invalidNames: readonly string[]
}

export const readReportedUsage = (
  { sums, meters, ownNames }: Pick<UsageFacts, 'sums' | 'meters' | 'ownNames'>,
  sentCounts: Fields | undefined,
): ReportedUsage => {
  if (!sentCounts) return NOT_REPORTED
  const counts = ownNames?.(sentCounts) ?? sentCounts
  const invalidNames = findInvalidNames(counts, [...sums.input, ...sums.output])
  // The first name is that of the sum. Some upstreams omit the sum and send one of its parts only.
  const isReported = ([sumName = '', ...otherNames]: readonly string[]): boolean =>
    (isCount(counts[sumName]) || otherNames.some(name => count(counts[name]) > 0)) &&
    ![sumName, ...otherNames].some(name => invalidNames.includes(name))
  return {
    meters: meters(counts),
    isInputReported: isReported(sums.input),
    isOutputReported: isReported(sums.output),
    invalidNames,
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

const findInvalidNames = (counts: Fields, sumNames: readonly string[]): readonly string[] => {
  const names = new Set<string>()
  const visit = (value: Json | undefined, name: string): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, name)
    else if (isFields(value)) for (const key in value) visit(value[key], key)
    else if (COUNT_NAME.test(name) && typeof value === 'number' && !isCount(value)) names.add(name)
  }
  for (const name in counts) {
    const value = counts[name]
    const isSum = sumNames.includes(name) && value !== null && value !== undefined
    if (isSum && !isCount(value)) names.add(name)
    else visit(value, name)
  }
  return [...names]
}

/** Merges the counts of an event into the earlier ones; missing and null members change nothing. */
export const mergeCounts = (earlier: Fields | undefined, later: Fields): Fields => {
  const merged: { [key: string]: Json } = { ...earlier }
  for (const name in later) {
    const value = later[name]
    if (value !== null && value !== undefined) merged[name] = value
  }
  return merged
}

/** A count that is part of another one, such as cached tokens of the input: at most `limit`. */
export const capCount = (value: Json | undefined, limit: number): number =>
  Math.min(count(value), limit)
