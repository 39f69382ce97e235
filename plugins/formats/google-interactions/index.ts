/** Gemini's interactions: steps in place of messages, stored at the provider. Bytes pass to
 *  upstreams that list the format; there is no translation. */
import { type Fields, isFields, lenientObjects, lenientText } from '../fields.ts'
import { type AnswerFacts, eventFields, type Format, type ReportedError } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { type SseEvent, writeEvent } from '../stream/sse.ts'
import { isEmpty, statusIn, UNKNOWN_STATUS } from '../unanswered.ts'
import { about } from './about.ts'
import { interactionIn, usage } from './usage.ts'

const END = 'interaction.complete'
const typeOf = (event: SseEvent): string =>
  lenientText(eventFields(event) ?? {}, 'event_type') ?? ''

const errorIn = (body: Fields): ReportedError | undefined => {
  if (isEmpty(body.error)) return undefined
  const { code } = isFields(body.error) ? body.error : {}
  return { status: statusIn(code) ?? UNKNOWN_STATUS, body }
}
/** An interaction that failed without any step of the model. */
const failureIn = (body: Fields): ReportedError | undefined => {
  if (body.status !== 'failed') return undefined
  if (lenientObjects(body, 'steps').some(({ type }) => type !== 'user_input')) return undefined
  const [error = {}] = lenientObjects(body, 'errors')
  const message = lenientText(error, 'message') ?? 'The interaction failed.'
  return { status: UNKNOWN_STATUS, body: { error: { code: UNKNOWN_STATUS, message } } }
}
const answers: AnswerFacts = {
  marks: ['"status":"completed"', '"status": "completed"'],
  failure: body => errorIn(body) ?? failureIn(body),
}
const served: ServedFacts = {
  members: ['id', 'model', 'service_tier'],
  mark: 'interaction"',
  read(fields) {
    const { id, model, service_tier } = interactionIn(fields)
    return servedOf(id, model, { service_tier })
  },
}
const configOf = ({ generation_config: config }: Fields): Fields => (isFields(config) ? config : {})
export const googleInteractions: Format = {
  name: 'google-interactions',
  dialect: 'google',
  endpoint: 'interactions',
  about,
  model: 'body',
  answerModel: { key: 'model', parents: ['interaction'] },
  outputLimit: (body, tokens) => [
    'generation_config',
    { ...configOf(body), max_output_tokens: tokens },
  ],
  limitField: 'max_output_tokens',
  limitsIn: body => [configOf(body).max_output_tokens],
  usage,
  served,
  stream: {
    usageMark: 'usage"',
    isCumulative: true,
    endMarks: [END],
    isEnd: event => typeOf(event).startsWith(END),
    afterEnd: 'same',
    completesWithoutTerminator: () => false,
    error: event => errorIn(eventFields(event) ?? {}),
    carriesContent: event => /^(?:step\.delta|interaction\.complete)/.test(typeOf(event)),
    failedEnd: event => failureIn(interactionIn(eventFields(event) ?? {})),
    encodeFailure: body => {
      const { code = UNKNOWN_STATUS, message = '' } = isFields(body.error) ? body.error : {}
      return writeEvent('error', { event_type: 'error', error: { code, message } })
    },
  },
  answers,
}
