/** What writing down used: the upstream's own seconds or tokens, or what its answer tells of how long was spoken. */
import type { Meters, Paid, Usage } from '../../slots.ts'
import { count, type Fields, inner, itemsIn, quantity } from '../fields.ts'
import { type Gauge, positive } from '../format.ts'
import { sure } from '../gauged.ts'
import { Transcript } from './transcript.ts'

/** `{type: duration, seconds}`, or tokens: what was heard is nearly all that is read. */
export const metersOf = (usage: Fields): Meters => {
  const read = count(usage.input_tokens)
  const { text_tokens: text, audio_tokens: sound } = inner(usage, 'input_token_details')
  const heard = typeof sound === 'number' ? Math.min(read, count(sound)) : read - count(text)
  return positive({
    seconds: quantity(usage.seconds),
    input: read - Math.max(0, heard),
    audio_input: heard,
    output: count(usage.output_tokens),
  })
}

/** Tokens a second of sound. OpenAI's realtime guide: one for 100 ms. */
const HEARD = 10
/** Bytes of text a token. */
const WRITTEN = 4
/** Bytes a second of a sound of which nothing else is known: 128 kbit. */
const USUAL = 16_000
/** Bytes a second that no codec for speech goes below. What a hold reckons with (billing/asked.ts). */
const LEAST = 500

export const transcriptionGauge = (request: Fields, paid: Paid, type: string): Gauge => {
  const size = itemsIn(request, 'file').reduce((sum, { bytes }) => sum + count(bytes), 0)
  const transcript = new Transcript(type)
  const byTokens = TOKENS.some(meter => paid.has(meter))
  const bySeconds = paid.has('seconds')
  return {
    saw: chunk => transcript.saw(chunk),
    usage(counts, whole) {
      const told = counts ? metersOf(counts) : {}
      const counted = TOKENS.some(meter => told[meter] !== undefined)
      if (counted && (byTokens || !bySeconds)) return { meters: told, ...sure(whole) }
      const seconds = told.seconds ?? transcript.duration
      if (seconds !== undefined && (bySeconds || !byTokens))
        return { meters: { ...told, seconds }, ...sure(whole) }
      return estimated(
        { ...told, ...(seconds && { seconds }) },
        transcript,
        size,
        !bySeconds && byTokens,
      )
    },
  }
}
const TOKENS = ['input', 'audio_input', 'output'] as const

/** Never longer than the file can be: as much is held. */
const estimated = (
  told: Meters,
  transcript: Transcript,
  size: number,
  inTokens: boolean,
): Usage => {
  const heard = told.audio_input === undefined ? undefined : told.audio_input / HEARD
  const said = told.seconds ?? heard ?? transcript.seconds ?? size / USUAL
  const seconds = Math.ceil(Math.min(said, size / LEAST))
  const output = told.output ?? Math.ceil(transcript.bytes / WRITTEN)
  const meters = inTokens ? { input: 0, audio_input: seconds * HEARD, output } : { seconds }
  return { meters, ...sure(false) }
}
