/** OpenAI's speech-to-text endpoints: forms pass up unchanged, and transcripts pass down in the
 *  format that the client requested. */
import { endedBy, usageWith } from '../closing-event.ts'
import type { Format } from '../format.ts'
import { metersOf, transcriptionGauge } from './gauge.ts'

const DONE = 'transcript.text.done'

export const openaiTranscription: Format = {
  name: 'openai-transcription',
  dialect: 'openai',
  endpoint: 'audio-transcription',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageWith(DONE),
    counts: ['seconds', 'input', 'audio_input', 'output'],
    meters: metersOf,
    sums: { read: ['input_tokens'], written: ['output_tokens'] },
    gauge: transcriptionGauge,
  },
  stream: endedBy(DONE),
}
