/** Usage of transcriptions: the upstream's own seconds or tokens, or the duration that the answer
 *  shows. */
import type { Meters, PricedMeters, Usage } from '../../slots.ts'
import { certaintyOf } from '../audio/usage-certainty.ts'
import { count, type Fields, lenientObject, lenientObjects, quantity } from '../fields.ts'
import { omitZeroMeters, type UsageEstimate } from '../format.ts'
import { AUDIO_NAMES, withOwnNames } from '../stream/count-names.ts'
import { Transcript } from './transcript.ts'

export const ownNames = withOwnNames(AUDIO_NAMES)

/** `{type: duration, seconds}`, or tokens, nearly all of which are audio. */
export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  const input = count(usage.input_tokens)
  const { text_tokens: textTokens, audio_tokens: audioTokens } = lenientObject(
    usage,
    'input_token_details',
  )
  const audioInput =
    typeof audioTokens === 'number'
      ? Math.min(input, count(audioTokens))
      : input - count(textTokens)
  return omitZeroMeters({
    seconds: quantity(usage.seconds),
    input: input - Math.max(0, audioInput),
    audio_input: audioInput,
    output: count(usage.output_tokens),
  })
}

/** Audio tokens per second. OpenAI's realtime guide: one per 100 ms. */
const AUDIO_TOKENS_PER_SECOND = 10
/** Bytes of text per token. */
const BYTES_PER_TOKEN = 4
/** Bytes per second of audio of unknown format: 128 kbit/s. */
const DEFAULT_BYTES_PER_SECOND = 16_000
/** The lowest bit rate of speech codecs, in bytes per second. A hold uses it as well. */
const MIN_BYTES_PER_SECOND = 500

export const transcriptionEstimate = (
  request: Fields,
  prices: PricedMeters,
  type: string,
): UsageEstimate => {
  const size = lenientObjects(request, 'file').reduce((sum, { bytes }) => sum + count(bytes), 0)
  const transcript = new Transcript(type)
  const byTokens = TOKEN_METERS.some(meter => prices.has(meter))
  const bySeconds = prices.has('seconds')
  return {
    observe: chunk => transcript.observe(chunk),
    usage(counts, whole) {
      const reportedMeters = counts ? metersOf(counts) : {}
      const countsTokens = TOKEN_METERS.some(meter => reportedMeters[meter] !== undefined)
      if (countsTokens && (byTokens || !bySeconds))
        return { meters: reportedMeters, ...certaintyOf(whole) }
      const seconds = reportedMeters.seconds ?? transcript.duration
      if (seconds !== undefined && (bySeconds || !byTokens))
        return { meters: { ...reportedMeters, seconds }, ...certaintyOf(whole) }
      return estimateUsage(
        { ...reportedMeters, ...(seconds && { seconds }) },
        transcript,
        size,
        !bySeconds && byTokens,
      )
    },
  }
}
const TOKEN_METERS = ['input', 'audio_input', 'output'] as const

/** Never longer than the file can be, which is the amount held. */
const estimateUsage = (
  reportedMeters: Meters,
  transcript: Transcript,
  size: number,
  inTokens: boolean,
): Usage => {
  const fromTokens =
    reportedMeters.audio_input === undefined
      ? undefined
      : reportedMeters.audio_input / AUDIO_TOKENS_PER_SECOND
  const duration =
    reportedMeters.seconds ?? fromTokens ?? transcript.seconds ?? size / DEFAULT_BYTES_PER_SECOND
  const seconds = Math.ceil(Math.min(duration, size / MIN_BYTES_PER_SECOND))
  const output = reportedMeters.output ?? Math.ceil(transcript.bytes / BYTES_PER_TOKEN)
  const meters = inTokens
    ? { input: 0, audio_input: seconds * AUDIO_TOKENS_PER_SECOND, output }
    : { seconds }
  return { meters, ...certaintyOf(false) }
}
