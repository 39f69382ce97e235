/** The attempts of a call: where each was sent, how it ended, and what the upstream said. */
import type { Attempt, Bytes, Fault, Headers, Reply, Slot } from '../../engine/plugin.ts'
import { boundText, messageIn } from '../calls/error-message.ts'
import { requestIdIn } from '../formats/served.ts'
import type { Try } from '../views.ts'

/** `start`: until the request ends, a time of `performance.now()`. */
export type RunningTry = { -readonly [Name in keyof Try]: Try[Name] } & { start: number }
export const TRIES: Slot<RunningTry[]> = { name: 'tries' }

/** Characters. */
const MAX_TEXT = 200

export const isFailed = ({ result }: Try): boolean =>
  typeof result === 'string' || (result ?? 0) >= 400

export const addTry = (
  { exchange, target }: Attempt,
  result: number | string,
  start: number,
  { headers = {}, error }: { readonly headers?: Headers; readonly error?: unknown },
): RunningTry => {
  const ms = Math.round(performance.now() - start)
  const each: RunningTry = {
    upstream: target.upstream,
    target: target.name ?? null,
    result,
    start,
    ms,
  }
  if (isFailed(each) && exchange.progress.key !== undefined) each.key = exchange.progress.key
  if (result === 'UPSTREAM_REFUSED') each.status = (error as Fault).status
  const cause = causeOf(error)
  if (cause !== undefined) each.cause = cause.slice(0, MAX_TEXT)
  const id = requestIdIn(headers)
  if (id !== undefined) each.id = id.slice(0, MAX_TEXT)
  const retryAfter = headers['retry-after']
  if (retryAfter !== undefined) each.retry_after = String(retryAfter).slice(0, MAX_TEXT)
  const tries = exchange.slots.get(TRIES)
  if (tries) tries.push(each)
  else exchange.slots.set(TRIES, [each])
  return each
}

/** The message of the system's error behind a fault. Causes without a code may quote content. */
const causeOf = (error: unknown): string | undefined => {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return undefined
  const { code, message } = cause as NodeJS.ErrnoException
  return causeOf(cause) ?? (typeof code === 'string' ? message || code : undefined)
}

// ---------------------------------------------------------------- what the upstream said

/** ms for which a failed reply waits for the first bytes of its body. */
const PATIENCE = 100

/** Of the fault that ended an attempt. A cause that is a text is what the upstream said, which is
 *  not for customers. */
export const messageOf = ({ cause, message }: Pick<Fault, 'cause' | 'message'>): string =>
  typeof cause === 'string' ? messageIn(cause) : boundText(message)

/** The message in a failed reply's body, which stays unchanged; empty if the body is late. */
export const messageOfReply = async (reply: Reply): Promise<string> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, PATIENCE, undefined)
  try {
    const bytes = await Promise.race<Bytes | undefined>([reply.peek(), late])
    return bytes ? messageIn(Buffer.from(bytes).toString()) : ''
  } catch {
    return ''
  } finally {
    clearTimeout(timer)
  }
}
