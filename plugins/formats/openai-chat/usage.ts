/** Converts usage counts of chat to and from the gateway's meters. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, lenientObject } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { capCount } from '../stream/reported-usage.ts'

/** `prompt_tokens` includes cached, cache write and audio tokens; `completion_tokens` includes
 *  thoughts. */
export const metersOf = (usage: Fields): Meters => {
  const prompt = count(usage.prompt_tokens)
  const completion = count(usage.completion_tokens)
  const promptDetails = lenientObject(usage, 'prompt_tokens_details')
  const completionDetails = lenientObject(usage, 'completion_tokens_details')
  const cached = capCount(promptDetails.cached_tokens, prompt)
  const cacheWrite = capCount(promptDetails.cache_write_tokens, prompt - cached)
  // Cached audio tokens are counted as cached.
  const audioInput = capCount(promptDetails.audio_tokens, prompt - cached - cacheWrite)
  const audioOutput = capCount(completionDetails.audio_tokens, completion)
  // xAI counts thoughts apart from the completion, which its total shows.
  const reasoning = count(completionDetails.reasoning_tokens)
  const excludesThinking =
    reasoning > 0 && count(usage.total_tokens) === prompt + completion + reasoning
  const thinking = excludesThinking ? reasoning : capCount(reasoning, completion - audioOutput)
  return omitZeroMeters({
    input: prompt - cached - cacheWrite - audioInput,
    cached,
    cache_write: cacheWrite,
    audio_input: audioInput,
    output: completion - audioOutput - (excludesThinking ? 0 : thinking),
    thinking,
    audio_output: audioOutput,
  })
}

export const countsOf = (meters: Meters): Fields => {
  const cacheWrite = (meters.cache_write ?? 0) + (meters.cache_write_1h ?? 0)
  const prompt =
    (meters.input ?? 0) +
    (meters.cached ?? 0) +
    (meters.audio_input ?? 0) +
    (meters.image_input ?? 0) +
    cacheWrite
  const completion = (meters.output ?? 0) + (meters.thinking ?? 0) + (meters.audio_output ?? 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: meters.cached ?? 0,
      audio_tokens: meters.audio_input ?? 0,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: {
      reasoning_tokens: meters.thinking ?? 0,
      audio_tokens: meters.audio_output ?? 0,
    },
  }
}

/** Every chunk may name the tier. Compatible upstreams report what their own provider served beside
 *  the counts. */
export const served: ServedFacts = {
  members: ['id', 'model', 'service_tier'],
  mark: 'service_tier"',
  read(fields) {
    const { speed, inference_geo, service_tier } = lenientObject(fields, 'usage')
    const attributes = {
      service_tier: fields.service_tier ?? service_tier,
      speed,
      inference_geo,
    }
    return servedOf(fields.id, fields.model, attributes)
  },
}
