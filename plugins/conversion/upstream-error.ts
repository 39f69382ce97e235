/** Error responses of upstreams: decides whether the gateway's key or the client is at fault, and
 *  renders or discards them. */
import { TollgateError } from '../../engine/errors.ts'
import type { Attempt, Fault, Headers, Json, Log, Reply } from '../../engine/plugin.ts'
import { type DialectName, render } from '../dialects/index.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { ReportedError } from '../formats/format.ts'
import type { TargetCodec } from '../formats/hub/codec.ts'
import { decodeErrorReply } from '../formats/openai-error-reply.ts'
import { blameIn, mayBlame } from './account-error.ts'
import { fault } from './faults.ts'

/** Bytes of an error response that are read. */
export const ERROR_LIMIT = 1024 * 1024

interface ErrorResponse {
  readonly status: number
  readonly text: string
  /** Its Retry-After, in a header or in the body. */
  readonly wait?: Headers[string] | undefined
}

/** The fault of an error that is about the gateway's account at the upstream; undefined for other
 *  errors. Logs the upstream's text for the operator; the customer reads none of it. */
export const accountFault = (
  log: Log,
  { target, exchange }: Pick<Attempt, 'target' | 'exchange'>,
  { status, text, wait = '1' }: ErrorResponse,
): Fault | undefined => {
  const blame = blameIn(status, text)
  if (!blame) return undefined
  const refusesKey = blame === 'key'
  const { upstream } = target
  const fields = { id: exchange.id, upstream, status, response: text.slice(0, 500) }
  if (status !== 429) {
    log.error(fields, "upstream rejects the gateway's API key")
    return fault('UPSTREAM_KEY_REFUSED', [], { refusesKey, cause: text })
  }
  log[refusesKey ? 'error' : 'warn'](fields, "upstream limits the gateway's account")
  return fault('UPSTREAM_LIMITED', [], {
    refusesKey,
    headers: { 'retry-after': wait },
    cause: text,
  })
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
  retryable = false,
): Fault => {
  const { message, param, ...error } = codec.decodeError(status, body)
  const retryAfter = wait ?? (error.retryAfter === undefined ? undefined : String(error.retryAfter))
  return new TollgateError('UPSTREAM_REFUSED', error.status, message, {
    expose: true,
    retryable,
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  })
}

/** The fault of a reply with a success status that reports an error. Retryable if another target or
 *  key may answer. Records the error for the health of address and key. */
export const reportedFault = (
  log: Log,
  codec: Pick<TargetCodec, 'decodeError'> | undefined,
  attempt: Attempt,
  { status, body }: ReportedError,
): Fault => {
  const { headers } = attempt.reply
  const text = JSON.stringify(body)
  const wait = waitIn(codec, { status, headers }, text)
  attempt.recordFailure(status, wait === undefined ? headers : { ...headers, 'retry-after': wait })
  const decodeError = codec?.decodeError ?? decodeErrorReply
  return (
    accountFault(log, attempt, { status, text, wait }) ??
    upstreamFault({ decodeError }, status, body, wait, isRetryable(status))
  )
}
/** Other statuses are about the request, which every target would refuse. */
const isRetryable = (status: number): boolean =>
  status >= 500 || status === TIMED_OUT || status === LIMITED
const [TIMED_OUT, LIMITED] = [408, 429]

/** Checks an error response in the client's own format: it passes unchanged, with status and
 *  Retry-After, unless it is about the gateway's account. */
export const checkError = async (
  log: Log,
  { codec }: { readonly codec?: Pick<TargetCodec, 'decodeError'> },
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status } = reply
  await rejectRedirect(reply)
  if (!mayBlame(status)) return
  const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
  const reason = accountFault(log, attempt, { status, text, wait: waitIn(codec, reply, text) })
  if (reason) throw reason
}
/** Like `checkError`, for formats whose upstreams have error replies of several shapes: one without
 *  an object `error` is written in the client's dialect. */
export const checkErrorShape = async (
  log: Log,
  { dialect, decodeError }: { readonly dialect: DialectName } & Pick<TargetCodec, 'decodeError'>,
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status, headers } = reply
  await rejectRedirect(reply)
  const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
  const wait = waitIn({ decodeError }, reply, text)
  const reason = accountFault(log, attempt, { status, text, wait })
  if (reason) throw reason
  const body = parseJson(text)
  if (isFields(body) && isFields(body.error)) return
  answerError(log, dialect, { codec: { decodeError } }, attempt, { status, text, headers })
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
  target: { readonly codec: Pick<TargetCodec, 'decodeError'> },
  attempt: Attempt,
  error: { readonly status: number; readonly text: string; readonly headers: Headers },
): void => {
  const { status, text, headers } = error
  const wait = waitIn(target.codec, error, text)
  const accountReason = accountFault(log, attempt, { status, text, wait })
  if (accountReason) throw accountReason
  const reason = upstreamFault(target.codec, status, parseJson(text), headers['retry-after'])
  const { body, ...refusal } = render(dialect, reason, attempt.exchange)
  attempt.answer(refusal.status, body, refusal.headers)
}
/** Seconds to wait, by the header or by the body. */
const waitIn = (
  codec: Pick<TargetCodec, 'decodeError'> | undefined,
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  text: string,
): Headers[string] | undefined => {
  const { retryAfter } = codec?.decodeError(status, parseJson(text)) ?? {}
  return headers['retry-after'] ?? (retryAfter === undefined ? undefined : String(retryAfter))
}
