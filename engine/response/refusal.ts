/** Renders a fault as the engine's own plain JSON, where no plugin renders it. */
import { asFault } from '../errors.ts'
import type { Exchange, Fault, Refusal } from '../plugin.ts'

export const plainRefusal = (thrown: Fault, exchange: Pick<Exchange, 'id'>): Refusal => {
  const { code, message, expose, headers, status: wantedStatus } = asFault(thrown)
  const status =
    Number.isInteger(wantedStatus) && wantedStatus >= 400 && wantedStatus <= 599
      ? wantedStatus
      : 500
  const error = { code, message: expose ? message : 'Internal error.', request_id: exchange.id }
  const body = Buffer.from(JSON.stringify({ error }))
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}
