/** Error responses of upstreams: decides whether the gateway's key or the client is at fault, and
 *  renders or discards them. */
import { TollgateError } from '../../engine/errors.ts'
import type { Attempt, Fault, Headers, Json, Log, Reply } from '../../engine/plugin.ts'
import { type DialectName, render } from '../dialects/index.ts'
import { parseJson } from '../formats/fields.ts'
import type { TargetFormat } from '../formats/format.ts'
import type { TargetCodec } from '../formats/hub/codec.ts'
import { fault } from './faults.ts'

/** Bytes of an error response that are read. */
export const ERROR_LIMIT = 1024 * 1024

/** Statuses that mean the gateway's own credential is at fault: customers must not see them, least
 *  of all as a 401. */
const KEY_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])
export const isKeyStatus = (status: number): boolean => KEY_STATUSES.has(status)

/** Logs the upstream's response for the operator, and returns a fault that does not blame the
 *  customer. */
export const keyFault = (
  log: Log,
  { target, exchange }: Attempt,
  status: number,
  body: string,
): Fault => {
  const { upstream } = target
  const text = body.slice(0, 500)
  log.error(
    { id: exchange.id, upstream, status, response: text },
    "upstream rejects the gateway's API key",
  )
  return fault('UPSTREAM_KEY_REFUSED')
}

/** Discards the body of a reply, and closes its upstream connection. */
export const discardBody = async ({ body }: Reply): Promise<void> => {
  if (!body || body instanceof Uint8Array) return
  try {
    for await (const _ of body) break
  } catch {
    // the body failed by itself
  }
}

/** A fault with the upstream's message and status, to be rendered in the client's dialect. */
export const upstreamFault = (
  codec: Pick<TargetCodec, 'decodeError'>,
  status: number,
  body: Json | undefined,
  wait?: Headers[string],
): Fault => {
  const { message, param, ...error } = codec.decodeError(status, body)
  const retryAfter = wait ?? (error.retryAfter === undefined ? undefined : String(error.retryAfter))
  return new TollgateError('UPSTREAM_REFUSED', error.status, message, {
    expose: true,
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  })
}

/** Checks an error response in the client's own format: it passes as it is, with status and
 *  Retry-After, unless it blames the customer for the gateway's key. */
export const checkError = async (
  log: Log,
  { blamesKey }: Pick<TargetFormat, 'blamesKey'>,
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status } = reply
  await rejectRedirect(reply)
  if (!isKeyStatus(status) && !(blamesKey && status === 400)) return
  const body = await reply.bytes(ERROR_LIMIT)
  if (isKeyStatus(status) || blamesKey?.(status, body))
    throw keyFault(log, attempt, status, Buffer.from(body).toString())
}
export const rejectRedirect = async (reply: Reply): Promise<void> => {
  if (reply.status >= 400) return
  await discardBody(reply)
  throw fault('UPSTREAM_REDIRECTED')
}

/** Answers an error response of another format in the client's dialect, with its status and
 *  message. */
export const answerError = (
  log: Log,
  dialect: DialectName,
  target: Pick<TargetFormat, 'blamesKey' | 'codec'>,
  attempt: Attempt,
  error: { readonly status: number; readonly text: string; readonly headers: Headers },
): void => {
  const { status, text, headers } = error
  if (isKeyStatus(status) || target.blamesKey?.(status, Buffer.from(text)))
    throw keyFault(log, attempt, status, text)
  const reason = upstreamFault(target.codec, status, parseJson(text), headers['retry-after'])
  const { body, ...refusal } = render(dialect, reason, attempt.exchange.id)
  attempt.answer(refusal.status, body, refusal.headers)
}
