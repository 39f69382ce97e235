/** Sends an event to its receiver once and classifies the response. Independent of the schedule and
 *  the store. */
import { retryAfterIn } from '../../engine/kit.ts'
import type { Headers, HostBase, Reply, Row } from '../../engine/plugin.ts'
import { hostOf } from './address.ts'

/** ms for the whole response of a receiver. */
const TIMEOUT = 3_000
/** Bytes of a response body that are read and discarded. */
const MAX_RESPONSE_BYTES = 65_536

/** A delivery that its queue sends by a function of its own, such as an alert. */
interface OwnDelivery {
  readonly id: string
  /** Of the receiver, such as mail. */
  readonly kind: string
  /** For the log, without secrets. */
  readonly receiver: string
  /** Never rejects. `at`: ms since 1970. */
  send(at: number): Promise<DeliveryResult>
}
/** A POST to an address that a customer chose. */
interface PublicDelivery {
  readonly id: string
  readonly url: string
  /** The URLs that it may be sent to begin with one of these. */
  readonly schemes: readonly string[]
  readonly body: string
  /** The headers that sign an attempt at this time. May throw a fault, whose code is then the
   *  outcome. */
  sign(at: number): Headers
}
export type DeliveryRequest = OwnDelivery | PublicDelivery
export interface DeliveryResult {
  /** A key of OUTCOMES, or the code of the fault that prevented the delivery. */
  readonly outcome: string
  readonly status?: number
  /** ms to wait, from the receiver's Retry-After. */
  readonly wait?: number
  /** Whether to pause all events to this receiver. */
  readonly pause?: boolean
  /** The receiver's own words, bounded. */
  readonly detail?: string
}

export interface Attempt {
  /** The delivery before the attempt, as its queue reads it. */
  readonly row: Row
  readonly at: number
  readonly ms: number
  /** Whether the response took longer than the time of an endpoint. */
  readonly slow: boolean
  readonly result: DeliveryResult
  /** The time of the next attempt, if any. */
  readonly next: number | undefined
}

/** Rejects only while the configuration is not active yet: nothing was sent then. */
export const deliver = async (
  request: DeliveryRequest,
  { send }: Pick<HostBase, 'send'>,
  at: number,
): Promise<DeliveryResult> => {
  if ('send' in request) return request.send(at)
  const { url, schemes, body, sign } = request
  // Saving checks the URL. This check covers rows that another program wrote.
  if (!schemes.some(scheme => url.startsWith(`${scheme}://`))) return { outcome: 'WEBHOOK_URL' }
  try {
    const reply = await send('public', {
      method: 'POST',
      path: url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Tollgate-Webhooks/1',
        ...sign(at),
      },
      body: Buffer.from(body),
      timeout: TIMEOUT,
    })
    // Read the body to free the connection; errors do not change the status.
    await reply.bytes(MAX_RESPONSE_BYTES).catch(() => {})
    return resultOf(reply, at)
  } catch (error) {
    const outcome = codeOf(error)
    if (outcome === 'NOT_READY') throw error
    return { outcome }
  }
}

// Standard Webhooks: with these codes the receiver, or its proxy, reports overload.
const THROTTLES: ReadonlySet<number> = new Set([429, 502, 504])

export const resultOf = (
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  now: number,
): DeliveryResult => {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status }
  if (status === 410) return { outcome: 'gone', status }
  // A redirect would lead to an unchecked address.
  if (status >= 300 && status < 400) return { outcome: 'redirected', status }
  const wait = retryAfterIn(headers, now)
  const pause = THROTTLES.has(status)
  return {
    outcome: pause ? 'throttled' : 'refused',
    status,
    pause,
    ...(wait !== undefined && { wait }),
  }
}

const MAX_CAUSE_DEPTH = 8
/** The code of the innermost cause, which is the most specific one. */
const codeOf = (error: unknown): string => {
  let code = 'INTERNAL'
  let at = error as Error | undefined
  for (let depth = 0; at && depth < MAX_CAUSE_DEPTH; depth++, at = at.cause as Error | undefined) {
    const innerCode = (at as { code?: unknown }).code
    if (typeof innerCode === 'string' && /^[A-Z_]+$/.test(innerCode)) code = innerCode
    if (code.startsWith('EGRESS_')) return code
  }
  return code
}

const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: 'Delivered.',
  gone: 'The receiver answered 410: the webhook is disabled until its URL is saved again.',
  redirected: 'The receiver answered with a redirect (%s), and redirects are not followed.',
  throttled: 'The receiver answered %s: it is overloaded.',
  refused: 'The receiver answered %s.',
  declined: 'The receiver answered %s, but refused the message.',
  removed: 'The receiver is no longer in the configuration.',
  SEND_TIMEOUT: `The receiver did not answer within ${TIMEOUT / 1_000} seconds.`,
  EGRESS_ADDRESS: 'The host name of the receiver resolves to an address that is not public.',
  EGRESS_NAME: 'The host name of the receiver cannot be resolved.',
}
/** The result of the last attempt of a row of an outbox as a sentence; '' before the first one. */
export const lastMessage = ({ outcome, status }: Row): string => {
  if (outcome === null || outcome === undefined) return ''
  const sentence = OUTCOMES[String(outcome)] ?? `The receiver could not be reached (${outcome}).`
  return sentence.replace('%s', String(status))
}

/** The fields of a delivery that may be logged. */
export const logFieldsOf = (request: DeliveryRequest, { outcome, status }: DeliveryResult) => ({
  event: request.id,
  ...('receiver' in request
    ? { kind: request.kind, receiver: request.receiver }
    : { receiver: hostOf(request.url) }),
  outcome,
  ...(status !== undefined && { status }),
})
