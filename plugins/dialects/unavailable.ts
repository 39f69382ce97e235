/** Faults of the gateway's own store and ledger, as a client reads them in every dialect: a 503 to retry.
 *  The store's own words are for operators; the request's line in the log has the code. */
import type { Fault } from '../../engine/plugin.ts'

const NOT_PROCESSED =
  'The service is temporarily unavailable and did not process this request. Retry it.'
const NOT_CONFIRMED =
  'The service could not confirm this request in time. Retry it: a request that failed is not charged.'

const MESSAGES: Readonly<Record<string, string>> = {
  STORE_UNAVAILABLE: NOT_PROCESSED,
  STORE_READ_ONLY: NOT_PROCESSED,
  STORE_UNKNOWN: NOT_CONFIRMED,
  // The process was taken for dead while it held money: another try finds one that lives.
  SHARE_GONE: NOT_CONFIRMED,
  CHARGE_CLOSED: NOT_CONFIRMED,
  CHARGE_EXISTS: NOT_CONFIRMED,
}
const RETRY = { 'retry-after': '1' }

/** The fault itself, where it is none of these. */
export const asUnavailable = (fault: Fault): Fault => {
  const message = MESSAGES[fault.code]
  if (message === undefined) return fault
  const { code, headers } = fault
  return { code, message, status: 503, expose: true, headers: { ...RETRY, ...headers } }
}
