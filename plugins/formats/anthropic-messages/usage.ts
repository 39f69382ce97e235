/** Converts usage counts to and from the gateway's meters. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { capCount } from '../stream/reported-usage.ts'

/** `input_tokens` excludes tokens read from and written to the cache; `output_tokens` includes
 *  thoughts. */
export const metersOf = (usage: Fields): Meters => {
  const cacheWrite = count(usage.cache_creation_input_tokens)
  const output = count(usage.output_tokens)
  const cacheWriteHour = capCount(
    lenientObject(usage, 'cache_creation').ephemeral_1h_input_tokens,
    cacheWrite,
  )
  const thinking = capCount(lenientObject(usage, 'output_tokens_details').thinking_tokens, output)
  const toolCounts = lenientObject(usage, 'server_tool_use')
  return omitZeroMeters({
    input: count(usage.input_tokens),
    cached: count(usage.cache_read_input_tokens),
    cache_write: cacheWrite - cacheWriteHour,
    cache_write_1h: cacheWriteHour,
    output: output - thinking,
    thinking,
    web_search: count(toolCounts.web_search_requests),
    code_execution: count(toolCounts.code_execution_requests),
  })
}

/** Audio, images and thoughts count as tokens of their side. This is the shape at the end of a
 *  stream. */
export const countsOf = (meters: Meters = {}): Fields => {
  const { input = 0, audio_input = 0, image_input = 0 } = meters
  const { cached = 0, cache_write = 0, cache_write_1h = 0 } = meters
  const { output = 0, thinking = 0, audio_output = 0, web_search = 0 } = meters
  return {
    input_tokens: input + audio_input + image_input,
    cache_creation_input_tokens: cache_write + cache_write_1h,
    cache_read_input_tokens: cached,
    output_tokens: output + thinking + audio_output,
    output_tokens_details: thinking > 0 ? { thinking_tokens: thinking } : null,
    server_tool_use:
      web_search > 0 ? { web_search_requests: web_search, web_fetch_requests: 0 } : null,
  }
}

/** The shape in a whole message and at the start of a stream. */
export const usageOf = (meters: Meters = {}, tier?: string): Fields => ({
  ...countsOf(meters),
  cache_creation: {
    ephemeral_5m_input_tokens: meters.cache_write ?? 0,
    ephemeral_1h_input_tokens: meters.cache_write_1h ?? 0,
  },
  inference_geo: null,
  service_tier: servedTier(tier),
  speed: null,
})

/** Merges the counts of a stream: the last value of each wins; null and missing values are
 *  ignored. */
export const mergeCounts = (earlier: Fields, later: Fields): Fields => {
  const counts = { ...earlier }
  for (const [key, value] of Object.entries(later)) if (value !== null) counts[key] = value
  return counts
}

/** Converts names of service tiers; unlisted names are the same on both sides. */
export const tierOf = (usage: Fields): string | undefined => {
  const { service_tier: tier } = usage
  if (typeof tier !== 'string') return undefined
  return tier === 'standard' ? 'default' : tier
}
const TIERS: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  priority: 'priority',
  batch: 'batch',
}
const servedTier = (tier: string | undefined): string | null =>
  (tier === undefined ? undefined : TIERS[tier]) ?? null

/** A stream names it in the message of its first event and with the counts near its end. */
export const served: ServedFacts = {
  members: ['id', 'model'],
  read(fields) {
    const message = isFields(fields.message) ? fields.message : fields
    const { service_tier, speed, inference_geo } = lenientObject(message, 'usage')
    return servedOf(message.id, message.model, { service_tier, speed, inference_geo })
  },
}
