/** Answers of upstreams that are none: functions that the formats share. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientText } from './fields.ts'
import type { AnswerFacts, ReportedError } from './format.ts'
import { openaiError } from './openai-error.ts'

/** Whether a member holds nothing: no text, no element, no member. */
export const isEmpty = (value: Json | undefined): boolean => {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isFields(value) && Object.keys(value).length === 0
}
export const hasAny = (fields: Fields, keys: readonly string[]): boolean =>
  keys.some(key => !isEmpty(fields[key]))

/** The status that an error has whose upstream names none. */
export const UNKNOWN_STATUS = 502
export const NO_CONTENT = 'The upstream sent an answer without content.'

/** `value`: a status as a number or as text; undefined for anything else. */
export const statusIn = (value: Json | undefined): number | undefined => {
  const status = typeof value === 'string' ? Number(value) : value
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined
}

/** The error of a whole answer in OpenAI's shape, of a compatible upstream in a shape of its
 *  own. */
export const openaiErrorInAnswer = (body: Fields): ReportedError | undefined => {
  const { error, object, error_type: type = null } = body
  if (typeof error === 'string' && error !== '') return openaiError({ message: error, type })
  if (isFields(error) && !isEmpty(error)) return openaiError(error)
  return object === 'error' ? openaiError(body) : undefined
}
/** A body that is not an answer: its own error, or that it has no content. */
export const openaiFailure = (body: Fields): ReportedError =>
  openaiErrorInAnswer(body) ?? {
    status: UNKNOWN_STATUS,
    body: {
      error: {
        message: lenientText(body, 'message') ?? NO_CONTENT,
        type: 'server_error',
        param: null,
        code: null,
      },
    },
  }
/** For endpoints of which nothing but an error is known to be no answer. */
export const OPENAI_ERRORS: AnswerFacts = { marks: [], failure: openaiErrorInAnswer }
