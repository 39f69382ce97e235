/** OpenAI's speech-to-text endpoints: forms pass up unchanged, and transcripts pass down in the
 *  format that the client requested. */
import { streamEndingWith, usageInEvent } from '../audio/ending-event.ts'
import { lenientObject } from '../fields.ts'
import type { Format } from '../format.ts'
import { servedOf } from '../served.ts'
import { hasAny, OPENAI_ERRORS } from '../unanswered.ts'
import { about } from './about.ts'
import { metersOf, ownNames, transcriptionEstimate } from './usage.ts'

const DONE = 'transcript.text.done'

export const openaiTranscription: Format = {
  name: 'openai-transcription',
  dialect: 'openai',
  endpoint: 'audio-transcription',
  about,
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageInEvent(DONE),
    counts: ['seconds', 'input', 'audio_input', 'output'],
    meters: metersOf,
    ownNames,
    sums: { input: ['input_tokens'], output: ['output_tokens'] },
    estimate: transcriptionEstimate,
  },
  // Compatible upstreams name both; segments of a transcript have ids of their own.
  served: {
    members: ['model', 'x_groq'],
    read: fields => servedOf(lenientObject(fields, 'x_groq').id, fields.model),
  },
  // The transcript of a silent file is empty.
  stream: streamEndingWith(
    DONE,
    fields => fields.type === DONE || hasAny(fields, ['delta', 'text']),
  ),
  answers: OPENAI_ERRORS,
}
