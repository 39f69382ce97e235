/** Faults of the gateway's store and ledger: clients get a 503 to retry in every dialect. The
 *  original message is for operators; the access log has the code. */
import type { Fault } from '../../engine/plugin.ts'

const NOT_COMPLETED =
  'The service is temporarily unavailable and could not complete this request. Retry it.'
const NOT_CONFIRMED = 'The service could not confirm this request in time. Retry it.'

const MESSAGES: Readonly<Record<string, string>> = {
  STORE_UNAVAILABLE: NOT_COMPLETED,
  STORE_READ_ONLY: NOT_COMPLETED,
  STORE_UNKNOWN: NOT_CONFIRMED,
  // The process was reaped while it held a lease: a retry reaches another process.
  LEASE_GONE: NOT_CONFIRMED,
  CHARGE_CLOSED: NOT_CONFIRMED,
  CHARGE_EXISTS: NOT_CONFIRMED,
  RESPONSE_REAPED: NOT_CONFIRMED,
  IDEMPOTENCY_LOST: 'The Idempotency-Key could not be stored in time. Retry.',
}
const RETRY = { 'retry-after': '1' }

/** Returns other faults unchanged. */
export const asUnavailable = (fault: Fault): Fault => {
  const message = MESSAGES[fault.code]
  if (message === undefined) return fault
  const { code, headers } = fault
  return { code, message, status: 503, expose: true, headers: { ...RETRY, ...headers } }
}
