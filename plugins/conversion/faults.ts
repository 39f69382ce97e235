/** Faults of the conversion between a client's format and a target's. */
import { errors, TollgateError } from '../../engine/errors.ts'
import type { Fault } from '../../engine/plugin.ts'
import type { Stop } from '../formats/hub/answer.ts'

export const fault = errors({
  MODEL_NOT_HERE: [404, "The model '%s' is not available on this endpoint.", { param: 'model' }],
  UPSTREAM_KEY_REFUSED: [
    502,
    "The upstream rejects the gateway's API key. The operator finds the details in the log.",
    { retryable: true },
  ],
  UPSTREAM_LIMITED: [
    429,
    'The upstream accepts no more requests at present. Retry later.',
    { retryable: true },
  ],
  UPSTREAM_REDIRECTED: [502, 'The upstream answered with a redirect, which is not followed.'],
  UPSTREAM_SILENT: [504, 'The upstream %s sent no content within %d ms.', { retryable: true }],
  UPSTREAM_EMPTY: [502, 'The upstream ended its answer without content.', { retryable: true }],
  UPSTREAM_TRUNCATED: [502, 'The upstream ended its stream before it was complete.'],
  UPSTREAM_LINGERS: [502, 'The upstream left its connection open after the end of its stream.'],
  UPSTREAM_UNREADABLE: [502, 'The upstream sent a response that is not a valid %s response.'],
  UPSTREAM_BROKE_OFF: [502, 'The model failed to write its answer: %s'],
  UPSTREAM_TANGLED: [
    502,
    'The upstream interleaves the parts of its answer in an unsupported way.',
  ],
  FIELD_LOST: [
    400,
    "The model '%s' does not support '%s', and this request allows no field to be dropped.",
  ],
})

/** The fault of an answer that breaks off, or cannot be decoded, before its content: nothing was
 *  sent to the client, so another target may answer. */
export const asRetryable = (cause: Fault): Fault => {
  const { code, status, message, expose } = cause
  return new TollgateError(code, status, message, { expose, retryable: true, cause })
}
export const modelFault = ({ message, raw }: Stop): Fault =>
  fault('UPSTREAM_BROKE_OFF', [message ?? raw ?? 'no reason given'])
