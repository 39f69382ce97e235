/** Renders a fault as the engine's own plain JSON, where no plugin renders it. */
import { asFault } from '../errors.ts'
import type { Exchange, Fault, Refusal } from '../plugin.ts'

export const plainRefusal = (reason: Fault, exchange: Pick<Exchange, 'id'>): Refusal => {
  const { code, message, expose, headers, status: own } = asFault(reason)
  const status = Number.isInteger(own) && own >= 400 && own <= 599 ? own : 500
  const error = { code, message: expose ? message : 'Internal error.', request_id: exchange.id }
  const body = Buffer.from(JSON.stringify({ error }))
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}
