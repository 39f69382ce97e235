/** One attempt at one receiver: sends an event, and says what its answer means. Knows no schedule and no store. */
import type { Lent, Reply } from '../../engine/plugin.ts'
import { hostOf } from './address.ts'
import { retryAfterOf } from './schedule.ts'
import { signatureHeaders } from './signature.ts'

/** ms that a receiver has for all of its answer. */
const TIMEOUT = 3_000
/** What a receiver says beside its status is read so far, and not kept. */
const MAX_RESPONSE_BYTES = 65_536

export interface DeliveryRequest {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly body: string
}
export interface DeliveryResult {
  /** One word of OUTCOMES, or the code of the fault that kept the event from arriving. */
  readonly outcome: string
  readonly status?: number
  /** ms that the receiver asks us to wait. */
  readonly wait?: number
  /** Nothing else should be sent there either. */
  readonly pause?: boolean
}

/** Rejects only where nothing was tried: before the configuration serves. */
export const deliver = async (
  { id, url, secret, body }: DeliveryRequest,
  { send }: Pick<Lent, 'send'>,
  at: number,
): Promise<DeliveryResult> => {
  // It was checked when it was saved; this is for what else may have written the row.
  if (!url.startsWith('https://')) return { outcome: 'WEBHOOK_URL' }
  try {
    const reply = await send('public', {
      method: 'POST',
      path: url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Tollgate-Webhooks/1',
        ...signatureHeaders({ id, body, secret, at }),
      },
      body: Buffer.from(body),
      timeout: TIMEOUT,
    })
    // The connection is free once all of it was read; the status stands whatever comes of that.
    await reply.bytes(MAX_RESPONSE_BYTES).catch(() => {})
    return resultOf(reply, at)
  } catch (thrown) {
    const outcome = codeOf(thrown)
    if (outcome === 'NOT_READY') throw thrown
    return { outcome }
  }
}

// Standard Webhooks: these say that the receiver, or what stands before it, has too much to do.
const THROTTLES: ReadonlySet<number> = new Set([429, 502, 504])

export const resultOf = (
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  now: number,
): DeliveryResult => {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status }
  if (status === 410) return { outcome: 'gone', status }
  // Followed, it would lead to an address that nobody checked.
  if (status >= 300 && status < 400) return { outcome: 'redirected', status }
  const wait = retryAfterOf(headers['retry-after'], now)
  const pause = THROTTLES.has(status)
  return {
    outcome: pause ? 'throttled' : 'refused',
    ...{ status, pause },
    ...(wait !== undefined && { wait }),
  }
}

const MAX_CAUSE_DEPTH = 8
/** The innermost reason: that an address is closed says more than that nobody could connect to it. */
const codeOf = (thrown: unknown): string => {
  let code = 'INTERNAL'
  let at = thrown as Error | undefined
  for (let depth = 0; at && depth < MAX_CAUSE_DEPTH; depth++, at = at.cause as Error | undefined) {
    const found = (at as { code?: unknown }).code
    if (typeof found === 'string' && /^[A-Z_]+$/.test(found)) code = found
    if (code.startsWith('EGRESS_')) return code
  }
  return code
}

const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: 'The receiver has it.',
  gone: 'The receiver answered 410: nothing more is sent there until its URL is saved again.',
  redirected: 'The receiver answered with a redirect (%s), and redirects are not followed.',
  throttled: 'The receiver answered %s: it has too much to do.',
  refused: 'The receiver answered %s.',
  SEND_TIMEOUT: `The receiver did not answer within ${TIMEOUT / 1_000} seconds.`,
  EGRESS_ADDRESS: 'The name of the receiver leads to an address that is not public.',
  EGRESS_NAME: 'The name of the receiver cannot be resolved.',
}
/** The same in a sentence, for whoever looks into it. */
export const messageOf = ({
  outcome,
  status,
}: Pick<DeliveryResult, 'outcome' | 'status'>): string =>
  (OUTCOMES[outcome] ?? `The receiver could not be reached (${outcome}).`).replace(
    '%s',
    String(status),
  )

/** What may be logged of a delivery. */
export const logFieldsOf = (
  { id, url }: Pick<DeliveryRequest, 'id' | 'url'>,
  { outcome, status }: DeliveryResult,
) => ({
  ...{ event: id, receiver: hostOf(url), outcome },
  ...(status !== undefined && { status }),
})
