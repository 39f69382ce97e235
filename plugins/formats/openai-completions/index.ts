/** OpenAI's legacy completions: a text in, a text out. Targets of every chat format answer them. */
import { type Fields, lenientObjects } from '../fields.ts'
import { type AnswerFacts, eventFields, type Format } from '../format.ts'
import { nullFacts } from '../json/null-members.ts'
import { decodeErrorReply } from '../openai-error-reply.ts'
import { OPENAI_SERVED } from '../served.ts'
import { CHUNKS } from '../stream/openai-chunks.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { openaiErrorInAnswer, openaiFailure } from '../unanswered.ts'
import { about } from './about.ts'
import { answersIn, decodePrompt, encodePrompt, NAMES } from './request.ts'
import { countsIn, decodeAnswer, encodeAnswer, metersOf, ownNames } from './response.ts'
import { decodeStream, encodeStream } from './stream.ts'

const TEXT = compileTextPattern({ text: ['text'] })
const choicesIn = (body: Fields): readonly Fields[] => lenientObjects(body, 'choices')
const hasEnded = ({ finish_reason: reason }: Fields): boolean =>
  typeof reason === 'string' && reason !== '' && !FAILURE.test(reason)
const FAILURE = /error|fail|abort|cancel/i
const hasText = ({ text }: Fields): boolean => typeof text === 'string' && text !== ''

const answers: AnswerFacts = {
  marks: ['"finish_reason":"stop"', '"finish_reason": "stop"'],
  failure: body =>
    choicesIn(body).some(choice => hasText(choice) || hasEnded(choice))
      ? undefined
      : openaiFailure(body),
}

const NULLS = nullFacts(
  `best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream
   stream_options suffix temperature top_p`,
  'logit_bias',
)

export const openaiCompletions: Format = {
  name: 'openai-completions',
  dialect: 'openai',
  endpoint: 'openai',
  about,
  model: 'body',
  answerModel: { key: 'model', parents: [] },
  outputLimit: (_, tokens) => ['max_tokens', tokens],
  limitField: 'max_tokens',
  limitsIn: body => [body.max_tokens],
  answersIn,
  usage: {
    key: 'usage',
    inEvent: countsIn,
    meters: metersOf,
    ownNames,
    sums: { input: ['prompt_tokens'], output: ['completion_tokens'] },
    text: { plain: TEXT, events: TEXT },
    counts: ['input', 'cached', 'output', 'thinking'],
  },
  served: OPENAI_SERVED,
  finish: { mark: '"finish_reason"', value: /^"finish_reason"\s*:\s*"(\w+)"/ },
  stream: {
    ...CHUNKS,
    error: event => openaiErrorInAnswer(eventFields(event) ?? {}),
    carriesContent: event =>
      choicesIn(eventFields(event) ?? {}).some(choice => hasText(choice) || hasEnded(choice)),
  },
  answers,
  nulls: NULLS,
  codec: {
    settings: NAMES,
    decodePrompt,
    encodePrompt,
    decodeAnswer,
    encodeAnswer,
    decodeStream,
    encodeStream,
    decodeError: decodeErrorReply,
    losesSignatures: true,
  },
}
