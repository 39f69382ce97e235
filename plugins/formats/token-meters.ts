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

/** The tokens of one kind, and how many of them have a modality. */
interface Counted {
  readonly tokens: number
  of(modality: Modality): number
}
type Modality = 'audio' | 'image' | 'video'
export interface ModalityCounts {
  /** With the cached ones. */
  readonly prompt: Counted
  readonly cached: Counted
  /** Tokens that tools added to the prompt. */
  readonly tools: Counted
  /** Without thoughts. */
  readonly output: Counted
  readonly thinking: number
}
/** The meters of `metersByModality`. */
export const MODALITY_METERS = [
  'input',
  'cached',
  'cached_audio',
  'cached_image',
  'audio_input',
  'output',
  'thinking',
  'audio_output',
  'image_output',
  'video_output',
] as const satisfies readonly Meter[]
/** Meters of counts by modality; no token counts twice. Uncached images and video count as `input`:
 *  their price is that of text. */
export const metersByModality = ({
  prompt,
  cached,
  tools,
  output,
  thinking,
}: ModalityCounts): Readonly<Record<(typeof MODALITY_METERS)[number], number>> => {
  const cachedTokens = Math.min(cached.tokens, prompt.tokens)
  const cachedAudio = Math.min(cached.of('audio'), cachedTokens)
  const cachedImage = Math.min(cached.of('image'), cachedTokens - cachedAudio)
  const input = prompt.tokens + tools.tokens - cachedTokens
  const audioTokens = prompt.of('audio') + tools.of('audio') - cachedAudio
  const audioInput = Math.min(Math.max(0, audioTokens), input)
  const audio = Math.min(output.of('audio'), output.tokens)
  const image = Math.min(output.of('image'), output.tokens - audio)
  const video = Math.min(output.of('video'), output.tokens - audio - image)
  return {
    input: input - audioInput,
    cached: cachedTokens - cachedAudio - cachedImage,
    cached_audio: cachedAudio,
    cached_image: cachedImage,
    audio_input: audioInput,
    output: output.tokens - audio - image - video,
    audio_output: audio,
    image_output: image,
    video_output: video,
    thinking,
  }
}
