/** OpenAI's speech-to-text endpoints: forms pass up unchanged, and transcripts pass down in the
 *  format that the client requested. */
import { streamEndingWith, usageIn } from '../ending-event.ts'
import type { Format } from '../format.ts'
import { metersOf, transcriptionEstimate } from './usage.ts'

const DONE = 'transcript.text.done'

export const openaiTranscription: Format = {
  name: 'openai-transcription',
  dialect: 'openai',
  endpoint: 'audio-transcription',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageIn(DONE),
    counts: ['seconds', 'input', 'audio_input', 'output'],
    meters: metersOf,
    sums: { read: ['input_tokens'], written: ['output_tokens'] },
    estimate: transcriptionEstimate,
  },
  stream: streamEndingWith(DONE),
}
