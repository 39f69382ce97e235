/** What reading aloud used: by the upstream's own tokens where it tells them, by the letters it was given to read elsewhere.
 *  Pure. */
import type { Meters, Paid } from '../../slots.ts'
import { count, type Fields, wordIn } from '../fields.ts'
import { type Gauge, positive } from '../format.ts'
import { sure } from '../gauged.ts'

export const metersOf = (usage: Fields): Meters =>
  positive({ input: count(usage.input_tokens), audio_output: count(usage.output_tokens) })

/** People read about 15 bytes of text aloud in a second, in Latin letters and in Chinese; a second is 20 tokens (OpenAI's
 *  realtime guide: one for 50 ms). */
const SPOKEN = 20 / 15
/** Letters a token. */
const READ = 4

export const speechGauge = (request: Fields, paid: Paid): Gauge => {
  const text = wordIn(request, 'input') ?? ''
  const characters = lettersIn(text)
  const byTokens = paid.has('audio_output') || paid.has('output') || paid.has('input')
  return {
    saw() {},
    usage(counts, whole) {
      const told = counts && metersOf(counts)
      const counted = told && Object.keys(told).length > 0
      if (counted && byTokens) return { meters: told, ...sure(whole) }
      // Letters are read before the first sound: a voice that breaks off has been given all of them.
      if (paid.has('characters') || !byTokens)
        return { meters: { ...told, characters }, ...sure(whole) }
      const input = Math.ceil(characters / READ)
      const spoken = Math.ceil(Buffer.byteLength(text) * SPOKEN)
      return { meters: { input, audio_output: spoken }, ...sure(false) }
    },
  }
}

/** As OpenAI counts them: one that takes two units of JavaScript's is one. */
const lettersIn = (text: string): number => {
  let letters = 0
  for (const _ of text) letters++
  return letters
}
