/** Errors of this format in answers and streams: `{error: {code, message}}`, and interactions that
 *  failed. */
import { type Fields, isFields, lenientObjects, lenientText, lookUp } from '../fields.ts'
import type { AnswerFacts, ReportedError } from '../format.ts'
import { isEmpty, NO_CONTENT, statusIn, UNKNOWN_STATUS } from '../unanswered.ts'
import { eventText } from './events.ts'

export const errorIn = (body: Fields): ReportedError | undefined => {
  if (isEmpty(body.error)) return undefined
  const { code } = isFields(body.error) ? body.error : {}
  return { status: statusIn(code) ?? UNKNOWN_STATUS, body }
}
/** An interaction that failed, or that the upstream cancelled, without any step of the model. */
export const failureIn = (body: Fields): ReportedError | undefined => {
  const reason = lookUp(ENDED, String(body.status))
  if (reason === undefined) return undefined
  if (lenientObjects(body, 'steps').some(({ type }) => type !== 'user_input')) return undefined
  const [error = {}] = lenientObjects(body, 'errors')
  const message = lenientText(error, 'message') ?? reason
  return { status: UNKNOWN_STATUS, body: { error: { code: UNKNOWN_STATUS, message } } }
}
const ENDED: Readonly<Record<string, string>> = {
  failed: 'The interaction failed.',
  cancelled: 'The upstream cancelled the interaction.',
}
export const answers: AnswerFacts = {
  marks: ['"status":"completed"', '"status": "completed"'],
  failure: body => errorIn(body) ?? failureIn(body) ?? absenceIn(body),
}
/** A body that holds nothing of an interaction. */
const absenceIn = ({ status, steps, outputs }: Fields): ReportedError | undefined =>
  isEmpty(status) && isEmpty(steps) && isEmpty(outputs)
    ? {
        status: UNKNOWN_STATUS,
        body: { error: { code: UNKNOWN_STATUS, message: NO_CONTENT } },
      }
    : undefined

/** Whether an event has a delta whose members are empty. */
export const hasEmptyDelta = ({ delta }: Fields): boolean =>
  isFields(delta) && Object.keys(delta).every(name => name === 'type' || isEmpty(delta[name]))

/** The event that ends a stream with an error. `body`: the error in Google's dialect. */
export const encodeFailure = (body: Fields): string => {
  const { code = UNKNOWN_STATUS, message = '' } = isFields(body.error) ? body.error : {}
  return eventText('error', { error: { code: String(code), message } })
}
