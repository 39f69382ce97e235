/** The answer to a fault where no plugin renders it: the engine's own plain JSON. */
import { asFault } from '../errors.ts'
import type { Exchange, Fault, Refusal } from '../plugin.ts'

export const plainRefusal = (thrown: Fault, exchange: Pick<Exchange, 'id'>): Refusal => {
  const { code, message, expose, headers, status: said } = asFault(thrown)
  const status = Number.isInteger(said) && said >= 400 && said <= 599 ? said : 500
  const error = { code, message: expose ? message : 'Internal error.', request_id: exchange.id }
  const body = Buffer.from(JSON.stringify({ error }))
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}
