/** Usage of text-to-speech: the upstream's own tokens if it sends them, otherwise the characters of
 *  the input. Pure. */
import type { Meters, PricedMeters } from '../../slots.ts'
import { certaintyOf } from '../audio/usage-certainty.ts'
import { count, type Fields, lenientText } from '../fields.ts'
import { omitZeroMeters, type UsageEstimate } from '../format.ts'
import { withOwnNames } from '../stream/count-names.ts'

export const ownNames = withOwnNames({ input: 'input_tokens', output: 'output_tokens' })

export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  return omitZeroMeters({
    input: count(usage.input_tokens),
    audio_output: count(usage.output_tokens),
  })
}

/** Speech is about 15 bytes of text per second, in Latin and Chinese script; a second is 20 tokens
 *  (OpenAI's realtime guide: one per 50 ms). */
const AUDIO_TOKENS_PER_BYTE = 20 / 15
/** Characters per token. */
const CHARACTERS_PER_TOKEN = 4

export const speechEstimate = (request: Fields, prices: PricedMeters): UsageEstimate => {
  const text = lenientText(request, 'input') ?? ''
  const characters = countCharacters(text)
  const byTokens = prices.has('audio_output') || prices.has('output') || prices.has('input')
  return {
    observe() {},
    usage(counts, whole) {
      const reportedMeters = counts && metersOf(counts)
      const isCounted = reportedMeters && Object.keys(reportedMeters).length > 0
      if (isCounted && byTokens) return { meters: reportedMeters, ...certaintyOf(whole) }
      // All characters are read before the first audio, so a truncated answer used all of them.
      if (prices.has('characters') || !byTokens)
        return { meters: { ...reportedMeters, characters }, ...certaintyOf(whole) }
      const input = Math.ceil(characters / CHARACTERS_PER_TOKEN)
      const audioOutput = Math.ceil(Buffer.byteLength(text) * AUDIO_TOKENS_PER_BYTE)
      return { meters: { input, audio_output: audioOutput }, ...certaintyOf(false) }
    },
  }
}

/** OpenAI counts code points, so a surrogate pair is one character. */
const countCharacters = (text: string): number => {
  let characters = 0
  for (const _ of text) characters++
  return characters
}
