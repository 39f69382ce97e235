/** OpenAI's endpoints that write down what was said: forms go up as they are, text comes down in whichever form was asked
 *  for. */
import { isFields } from '../fields.ts'
import { type Format, fieldsOf } from '../format.ts'
import { openaiErrorIn } from '../openai-error.ts'
import type { SseEvent } from '../sse.ts'
import { metersOf, transcriptionGauge } from './gauge.ts'

const DONE = 'transcript.text.done'
const isDone = (event: SseEvent): boolean => fieldsOf(event)?.type === DONE

export const openaiTranscription: Format = {
  name: 'openai-transcription',
  dialect: 'openai',
  endpoint: 'audio-transcription',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: ({ type, usage }) => (type === DONE && isFields(usage) ? usage : undefined),
    counts: ['seconds', 'input', 'audio_input', 'output'],
    meters: metersOf,
    gauge: transcriptionGauge,
  },
  stream: {
    usageMark: DONE,
    cumulative: false,
    endMarks: [DONE],
    ends: isDone,
    suffices: isDone,
    error: openaiErrorIn,
  },
}
