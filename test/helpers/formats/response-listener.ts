/** A listener of responses that does nothing but what a test gives it. */
import { asFault } from '../../../engine/errors.ts'
import type { ResponseListener } from '../../../plugins/formats/stream/response-listener.ts'

export const responseListener = (own: Partial<ResponseListener>): ResponseListener => ({
  onServed() {},
  onBytes() {},
  onUsage() {},
  onBroken() {},
  onUnanswered() {},
  onLinger() {},
  errorIn: () => undefined,
  encodeFailure: reason => Buffer.from(reason.message),
  faultOf: code => asFault(Object.assign(new Error(code), { code, status: 502, expose: true })),
  ...own,
})
