/** OpenAI's endpoint that reads aloud: sound passes byte for byte, in a stream of events, too. */
import { isFields } from '../fields.ts'
import { type Format, fieldsOf } from '../format.ts'
import { openaiErrorIn } from '../openai-error.ts'
import type { SseEvent } from '../sse.ts'
import { metersOf, speechGauge } from './gauge.ts'

const DONE = 'speech.audio.done'
const isDone = (event: SseEvent): boolean => fieldsOf(event)?.type === DONE

export const openaiSpeech: Format = {
  name: 'openai-speech',
  dialect: 'openai',
  endpoint: 'audio-speech',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: ({ type, usage }) => (type === DONE && isFields(usage) ? usage : undefined),
    counts: ['input', 'audio_output'],
    meters: metersOf,
    gauge: speechGauge,
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
