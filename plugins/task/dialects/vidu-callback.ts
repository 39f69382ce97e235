/** Callbacks of the video endpoints. */
import { errors } from '../../../engine/errors.ts'
import type { CallbackDialect } from './dialect.ts'
import { hmacHeaders } from './hmac-headers.ts'

const fault = errors({
  CALLBACK_URL: [400, 'invalid field: %s: %s', { as: { vidu: { type: 'FieldInvalid' } } }],
})
/** The member of a create request that has the URL of the callback. */
const MEMBER = 'callback_url'

/** The announced states as clients see them. */
const TOPICS: Readonly<Record<string, string>> = {
  running: 'processing',
  unknown: 'processing',
  succeeded: 'success',
  failed: 'failed',
}

export const viduCallback: CallbackDialect = {
  member: MEMBER,
  topicOf: state => TOPICS[state],
  fault: problem => fault('CALLBACK_URL', [MEMBER, problem], { param: MEMBER }),
  signatureHeaders: hmacHeaders('vidu'),
}
