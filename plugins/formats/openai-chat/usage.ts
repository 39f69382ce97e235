/** Counts of a chat answer, both ways. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, inner } from '../fields.ts'
import { positive } from '../format.ts'
import { partOf } from '../reported-usage.ts'

/** `prompt_tokens` holds what was cached, written to the cache and heard; `completion_tokens` what was thought. */
export const metersOf = (usage: Fields): Meters => {
  const prompt = count(usage.prompt_tokens)
  const completion = count(usage.completion_tokens)
  const read = inner(usage, 'prompt_tokens_details')
  const written = inner(usage, 'completion_tokens_details')
  const cached = partOf(read.cached_tokens, prompt)
  const cacheWrite = partOf(read.cache_write_tokens, prompt - cached)
  // Of what was heard some may be cached, and is counted there.
  const heard = partOf(read.audio_tokens, prompt - cached - cacheWrite)
  const spoken = partOf(written.audio_tokens, completion)
  // xAI counts thinking beside the completion, and its total says so.
  const told = count(written.reasoning_tokens)
  const beside = told > 0 && count(usage.total_tokens) === prompt + completion + told
  const thinking = beside ? told : partOf(told, completion - spoken)
  return positive({
    input: prompt - cached - cacheWrite - heard,
    cached,
    cache_write: cacheWrite,
    audio_input: heard,
    output: completion - spoken - (beside ? 0 : thinking),
    thinking,
    audio_output: spoken,
  })
}

export const countsOf = (meters: Meters): Fields => {
  const written = (meters.cache_write ?? 0) + (meters.cache_write_1h ?? 0)
  const prompt =
    (meters.input ?? 0) +
    (meters.cached ?? 0) +
    (meters.audio_input ?? 0) +
    (meters.image_input ?? 0) +
    written
  const completion = (meters.output ?? 0) + (meters.thinking ?? 0) + (meters.audio_output ?? 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: meters.cached ?? 0,
      audio_tokens: meters.audio_input ?? 0,
      ...(written > 0 && { cache_write_tokens: written }),
    },
    completion_tokens_details: {
      reasoning_tokens: meters.thinking ?? 0,
      audio_tokens: meters.audio_output ?? 0,
    },
  }
}
