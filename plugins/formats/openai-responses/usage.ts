/** Converts usage counts to and from the gateway's meters: `input_tokens` includes cached and cache
 *  write tokens, `output_tokens` includes thoughts. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { capCount } from '../stream/reported-usage.ts'

export const metersOf = (usage: Fields): Meters => {
  const input = count(usage.input_tokens)
  const details = lenientObject(usage, 'input_tokens_details')
  const output = count(usage.output_tokens)
  const cached = capCount(details.cached_tokens, input)
  const cacheWrite = capCount(details.cache_write_tokens, input - cached)
  const thinking = capCount(lenientObject(usage, 'output_tokens_details').reasoning_tokens, output)
  return omitZeroMeters({
    input: input - cached - cacheWrite,
    cached,
    cache_write: cacheWrite,
    output: output - thinking,
    thinking,
  })
}

export const countsOf = (meters: Meters): Fields => {
  const sumOf = (...names: readonly (keyof Meters)[]): number =>
    names.reduce((sum, name) => sum + (meters[name] ?? 0), 0)
  const input = sumOf(
    'input',
    'cached',
    'cache_write',
    'cache_write_1h',
    'audio_input',
    'image_input',
  )
  const output = sumOf('output', 'thinking', 'audio_output')
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: sumOf('cached'),
      cache_write_tokens: sumOf('cache_write', 'cache_write_1h'),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: sumOf('thinking') },
    total_tokens: input + output,
  }
}

/** The first events of a stream repeat the tier that was requested; the last one names the tier
 *  that served it. */
export const served: ServedFacts = {
  members: ['id', 'model', 'service_tier'],
  read(fields) {
    const response = isFields(fields.response) ? fields.response : fields
    // Only whole responses have an object; other events have ids of items.
    if (response.object !== undefined && response.object !== 'response') return {}
    const { speed, inference_geo } = lenientObject(response, 'usage')
    const { id, model, service_tier } = response
    return servedOf(id, model, { service_tier, speed, inference_geo })
  },
}
