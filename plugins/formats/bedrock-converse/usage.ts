/** Usage counts. `inputTokens` excludes tokens read from and written to the cache; `outputTokens`
 *  includes thoughts. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, lenientObjects } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'

/** The counts of an answer, or of the event `metadata`. */
export const countsIn = ({ usage }: Fields): Fields | undefined =>
  isFields(usage) ? usage : undefined

export const ownNames = withOwnNames({
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadInputTokens',
  cacheWrite: 'cacheWriteInputTokens',
})

export const metersOf = (sentUsage: Fields): Meters => {
  const counts = ownNames(sentUsage)
  const writeTokens = count(counts.cacheWriteInputTokens)
  const hour = lenientObjects(counts, 'cacheDetails').find(({ ttl }) => ttl === '1h')
  const hourTokens = capCount(hour?.inputTokens, writeTokens)
  return omitZeroMeters({
    input: count(counts.inputTokens),
    cached: count(counts.cacheReadInputTokens),
    cache_write: writeTokens - hourTokens,
    cache_write_1h: hourTokens,
    output: count(counts.outputTokens),
  })
}

/** In a whole answer, and in the event `metadata`. The answer has no id; it names the model that a
 *  prompt router chose. */
export const served: ServedFacts = {
  members: ['serviceTier', 'performanceConfig', 'trace'],
  read: fields =>
    servedOf(undefined, invokedModelIn(fields), {
      service_tier: lenientObject(fields, 'serviceTier').type,
      speed: lenientObject(fields, 'performanceConfig').latency,
    }),
}
const invokedModelIn = (fields: Fields): Json | undefined =>
  lenientObject(lenientObject(fields, 'trace'), 'promptRouter').invokedModelId
