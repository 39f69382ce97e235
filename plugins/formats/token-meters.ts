/** The meters that count tokens: of the prompt and of the completion. */
import type { Meter, Meters } from '../slots.ts'
import { count, type Fields } from './fields.ts'

export const PROMPT_METERS = [
  'input',
  'cached',
  'cached_audio',
  'cached_image',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'transcription_input',
] as const satisfies readonly Meter[]
export const COMPLETION_METERS = [
  'output',
  'thinking',
  'audio_output',
  'image_output',
  'video_output',
  'transcription_output',
] as const satisfies readonly Meter[]

const sumOf = (meters: Meters, names: readonly Meter[]): number =>
  names.reduce((sum, name) => sum + (meters[name] ?? 0), 0)
/** All tokens of the prompt, those that were read from and written to a cache included. */
export const promptTokensOf = (meters: Meters): number => sumOf(meters, PROMPT_METERS)
/** All tokens of the completion, thinking included. */
export const completionTokensOf = (meters: Meters): number => sumOf(meters, COMPLETION_METERS)
/** The tokens that were read from a cache. */
export const cachedTokensOf = (meters: Meters): number =>
  sumOf(meters, ['cached', 'cached_audio', 'cached_image'])
/** The tokens that were written to a cache. */
export const cacheWriteTokensOf = (meters: Meters): number =>
  sumOf(meters, ['cache_write', 'cache_write_1h'])

/** The tokens of a call without a completion, by the name that the upstream uses. */
export const promptTokensIn = (counts: Fields): number =>
  count(counts.total_tokens) || count(counts.prompt_tokens) || count(counts.input_tokens)
