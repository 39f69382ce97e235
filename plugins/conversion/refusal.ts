/** An upstream that says no: whose fault it is, and how its answer is let go. */
import { TollgateError } from '../../engine/errors.ts'
import type { Attempt, Fault, Headers, Json, Log, Reply } from '../../engine/plugin.ts'
import { type DialectName, render } from '../dialects/index.ts'
import type { TargetCodec } from '../formats/codec.ts'
import { parsed } from '../formats/fields.ts'
import type { TargetFormat } from '../formats/format.ts'
import { fault } from './faults.ts'

/** More of an error than this nobody reads. */
export const ERROR_LIMIT = 1024 * 1024

/** What says that the gateway's own credential is at fault: none of the customer's business, and never his 401. */
const KEY_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])
export const isKeyStatus = (status: number): boolean => KEY_STATUSES.has(status)

/** The operator is told what the upstream said, the customer that it was not his fault. */
export const blame = (
  log: Log,
  { target, exchange }: Attempt,
  status: number,
  body: string,
): Fault => {
  const { upstream } = target
  const said = body.slice(0, 500)
  log.error({ id: exchange.id, upstream, status, said }, 'upstream refuses our key')
  return fault('UPSTREAM_KEY_REFUSED')
}

/** Lets go of an answer nobody will read: whoever stops reading ends the upstream's side too. */
export const abandon = async ({ body }: Reply): Promise<void> => {
  if (!body || body instanceof Uint8Array) return
  try {
    for await (const _ of body) break
  } catch {
    // it broke by itself
  }
}

/** The upstream's own words and status, to be written in the client's dialect. */
export const refusalOf = (
  codec: Pick<TargetCodec, 'decodeError'>,
  status: number,
  body: Json | undefined,
  wait?: Headers[string],
): Fault => {
  const { message, param, ...said } = codec.decodeError(status, body)
  const after = wait ?? (said.retryAfter === undefined ? undefined : String(said.retryAfter))
  return new TollgateError('UPSTREAM_REFUSED', said.status, message, {
    expose: true,
    ...(param !== undefined && { param }),
    ...(after !== undefined && { headers: { 'retry-after': after } }),
  })
}

/** Of the client's own format: it passes as it is, status and Retry-After with it, unless it would blame the customer for our key. */
export const letPass = async (
  log: Log,
  { blamesKey }: Pick<TargetFormat, 'blamesKey'>,
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status } = reply
  await notRedirected(reply)
  if (!isKeyStatus(status) && !(blamesKey && status === 400)) return
  const body = await reply.bytes(ERROR_LIMIT)
  if (isKeyStatus(status) || blamesKey?.(status, body))
    throw blame(log, attempt, status, Buffer.from(body).toString())
}
export const notRedirected = async (reply: Reply): Promise<void> => {
  if (reply.status >= 400) return
  await abandon(reply)
  throw fault('UPSTREAM_REDIRECTED')
}

/** Of another format: answered in the client's dialect, with its status and its words. */
export const retell = (
  log: Log,
  dialect: DialectName,
  target: Pick<TargetFormat, 'blamesKey' | 'codec'>,
  attempt: Attempt,
  said: { readonly status: number; readonly text: string; readonly headers: Headers },
): void => {
  const { status, text, headers } = said
  if (isKeyStatus(status) || target.blamesKey?.(status, Buffer.from(text)))
    throw blame(log, attempt, status, text)
  const reason = refusalOf(target.codec, status, parsed(text), headers['retry-after'])
  const { body, ...refusal } = render(dialect, reason, attempt.exchange.id)
  attempt.answer(refusal.status, body, refusal.headers)
}
