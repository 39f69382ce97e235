/** The faults of JSON bodies, and their limits. */
import { errors } from '../../errors.ts'

export const fault = errors({
  BODY_NOT_UTF8: [400, 'The request body is not valid UTF-8.'],
  BODY_NOT_JSON: [400, 'The request body is not valid JSON: %s.'],
  BODY_EMPTY: [400, 'The request has no body; this route expects JSON.'],
  BODY_TOO_DEEP: [400, 'The JSON body is nested deeper than %d levels.'],
  BODY_TOO_MANY_KEYS: [400, 'The JSON body has more than %d keys %s.'],
  BODY_DUPLICATE_KEY: [400, 'The JSON body has the key %s twice in one object.'],
  BODY_FORBIDDEN_KEY: [400, 'The JSON body has the key %s, which is not accepted.'],
})

export const LIMITS = { depth: 64, keysPerObject: 10_000, keys: 100_000 }
export type JsonLimits = typeof LIMITS

/** Parses `text`. Throws BODY_NOT_JSON. */
export const parseText = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw fault('BODY_NOT_JSON', [reasonOf(error)])
  }
}
/** Removes the input that V8 quotes in its message: the customer needs the place only. */
const reasonOf = (error: unknown): string =>
  (error as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(' in JSON', '')
