/** OpenAI's text-to-speech endpoint: audio passes through unchanged, also in a stream of events. */
import { streamEndingWith, usageInEvent } from '../audio/ending-event.ts'
import type { Format } from '../format.ts'
import { NO_NULLS } from '../json/null-members.ts'
import { NOTHING_SERVED } from '../served.ts'
import { hasAny, OPENAI_ERRORS } from '../unanswered.ts'
import { about } from './about.ts'
import { metersOf, ownNames, speechEstimate } from './usage.ts'

const DONE = 'speech.audio.done'

export const openaiSpeech: Format = {
  name: 'openai-speech',
  dialect: 'openai',
  endpoint: 'audio-speech',
  about,
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: usageInEvent(DONE),
    counts: ['input', 'audio_output'],
    meters: metersOf,
    ownNames,
    sums: { input: ['input_tokens'], output: ['output_tokens'] },
    estimate: speechEstimate,
  },
  nulls: NO_NULLS,
  served: NOTHING_SERVED,
  stream: streamEndingWith(DONE, fields => hasAny(fields, ['audio', 'delta'])),
  answers: { ...OPENAI_ERRORS, needsBytes: true },
}
