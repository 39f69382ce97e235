/** OpenAI's text-to-speech endpoint: audio passes through unchanged, also in a stream of events. */
import { streamEndingWith, usageIn } from '../ending-event.ts'
import type { Format } from '../format.ts'
import { metersOf, speechEstimate } from './usage.ts'

const DONE = 'speech.audio.done'

export const openaiSpeech: Format = {
  name: 'openai-speech',
  dialect: 'openai',
  endpoint: 'audio-speech',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageIn(DONE),
    counts: ['input', 'audio_output'],
    meters: metersOf,
    sums: { read: ['input_tokens'], written: ['output_tokens'] },
    estimate: speechEstimate,
  },
  stream: streamEndingWith(DONE),
}
