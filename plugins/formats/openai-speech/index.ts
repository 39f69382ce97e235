/** OpenAI's text-to-speech endpoint: audio passes through unchanged, also in a stream of events. */
import { endedBy, usageWith } from '../closing-event.ts'
import type { Format } from '../format.ts'
import { metersOf, speechGauge } from './gauge.ts'

const DONE = 'speech.audio.done'

export const openaiSpeech: Format = {
  name: 'openai-speech',
  dialect: 'openai',
  endpoint: 'audio-speech',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageWith(DONE),
    counts: ['input', 'audio_output'],
    meters: metersOf,
    sums: { read: ['input_tokens'], written: ['output_tokens'] },
    gauge: speechGauge,
  },
  stream: endedBy(DONE),
}
