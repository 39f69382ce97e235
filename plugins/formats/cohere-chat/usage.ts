/** Usage counts. `billed_units` omits what Cohere itself adds to a prompt; `tokens` includes it. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'

export const ownNames = withOwnNames({ input: 'input_tokens', output: 'output_tokens' })

/** The counts of an answer, or of the `delta` of an event. */
export const countsIn = ({ usage: sentUsage }: Fields): Fields | undefined => {
  if (!isFields(sentUsage)) return undefined
  const usage = ownNames(sentUsage)
  const units = lenientObject(usage, 'billed_units')
  const counts = Object.keys(units).length > 0 ? units : lenientObject(usage, 'tokens')
  return { ...counts, cached_tokens: usage.cached_tokens ?? 0 }
}

export const metersOf = (sentCounts: Fields): Meters => {
  const counts = ownNames(sentCounts)
  const input = count(counts.input_tokens)
  const cached = capCount(counts.cached_tokens, input)
  return omitZeroMeters({
    input: input - cached,
    cached,
    output: count(counts.output_tokens),
    search_units: count(counts.search_units),
  })
}
