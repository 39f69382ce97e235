/** Converts usage counts to and from the gateway's meters: `input_tokens` includes cached and cache
 *  write tokens, `output_tokens` includes thoughts, audio and images. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { firstNamed, type ServedFacts, servedOf } from '../served.ts'
import { RESPONSES_NAMES, withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'
import {
  cachedTokensOf,
  cacheWriteTokensOf,
  completionTokensOf,
  promptTokensOf,
} from '../token-meters.ts'

export const ownNames = withOwnNames(RESPONSES_NAMES)

export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  const input = count(usage.input_tokens)
  const details = lenientObject(usage, 'input_tokens_details')
  const output = count(usage.output_tokens)
  const outputDetails = lenientObject(usage, 'output_tokens_details')
  const cached = capCount(details.cached_tokens, input)
  const cachedDetails = lenientObject(details, 'cached_tokens_details')
  const cachedAudio = capCount(cachedDetails.audio_tokens, cached)
  const cachedImage = capCount(cachedDetails.image_tokens, cached - cachedAudio)
  const cacheWrite = capCount(details.cache_write_tokens, input - cached)
  // The longer of the two times that a cache lasts.
  const { ttl_12h_tokens: longTokens } = lenientObject(details, 'cache_write_tokens_details')
  const longWrite = capCount(longTokens, cacheWrite)
  const freshAudio = Math.max(0, count(details.audio_tokens) - cachedAudio)
  const audioInput = Math.min(freshAudio, input - cached - cacheWrite)
  const audioOutput = capCount(outputDetails.audio_tokens, output)
  const imageOutput = capCount(outputDetails.image_tokens, output - audioOutput)
  const text = output - audioOutput - imageOutput
  const reasoning = count(outputDetails.reasoning_tokens)
  // Some upstreams count thoughts apart from the output, which the total shows.
  const isBeside = reasoning > 0 && count(usage.total_tokens) === input + output + reasoning
  const thinking = isBeside ? reasoning : Math.min(reasoning, text)
  return omitZeroMeters({
    input: input - cached - cacheWrite - audioInput,
    cached: cached - cachedAudio - cachedImage,
    cached_audio: cachedAudio,
    cached_image: cachedImage,
    cache_write: cacheWrite - longWrite,
    cache_write_1h: longWrite,
    audio_input: audioInput,
    output: text - (isBeside ? 0 : thinking),
    thinking,
    audio_output: audioOutput,
    image_output: imageOutput,
  })
}

export const countsOf = (meters: Meters): Fields => {
  const input = promptTokensOf(meters)
  const output = completionTokensOf(meters)
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cachedTokensOf(meters),
      cache_write_tokens: cacheWriteTokensOf(meters),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: meters.thinking ?? 0 },
    total_tokens: input + output,
  }
}

const WHOLE_OBJECTS: ReadonlySet<Json> = new Set(['response', 'response.compaction'])

/** The first events of a stream repeat the tier that was requested; the last one names the tier
 *  that served it. */
export const served: ServedFacts = {
  members: ['id', 'model', 'service_tier'],
  read(fields) {
    const response = isFields(fields.response) ? fields.response : fields
    // Only whole responses have an object; other events have ids of items.
    if (response.object !== undefined && !WHOLE_OBJECTS.has(response.object)) return {}
    const { service_tier, speed, inference_geo } = lenientObject(response, 'usage')
    return servedOf(response.id, response.model, {
      service_tier: firstNamed(response.service_tier, service_tier),
      speed,
      inference_geo,
    })
  },
}
