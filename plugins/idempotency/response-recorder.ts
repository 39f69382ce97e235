/** Stores a response under its Idempotency-Key at its end, or frees the key. */
import type { Bytes, Headers, Reply, Statement } from '../../engine/plugin.ts'
import { BodyRecorder } from '../conversion/body-recorder.ts'
import type { EarlyReply } from '../slots.ts'
import { forgetUnseen, freeKey, replaceResponse, storeResponse, useUp } from './statements.ts'

export interface RecorderOptions {
  readonly request: string
  readonly reply: Reply
  /** Bytes. */
  readonly largest: number
  readonly mayShowSecret: boolean
  /** Whether the response ends with an error inside its body. */
  hasFailed(): boolean
  /** Adds to the list that must be durable before the last byte. */
  add(statement: Statement): void
}

/** Statuses that ask for a retry, whose responses are not stored: RFC 9110 §15.5.9, RFC 8470,
 *  RFC 6585 §4, and conflicts of concurrent calls. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 425, 429])
const isFinal = (status: number): boolean => status < 500 && !RETRYABLE.has(status)

/** Headers that frame a message or describe one call only. */
const OF_ONE_CALL =
  /^(?:connection|content-length|date|retry-after|transfer-encoding|x-request-id|(?:x|anthropic)-ratelimit-.*|x-tollgate-.*)$/
/** JSON. */
const headersOf = ({ headers }: { readonly headers: Headers }): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_ONE_CALL.test(name))),
  )

/** The replacement of an early reply once the request has ended. Undefined: it stays, as the
 *  response is too large. */
export const laterResponse = (
  { request, reply, largest }: Pick<RecorderOptions, 'request' | 'reply' | 'largest'>,
  body: Bytes,
): Statement | undefined => {
  if (!isFinal(reply.status)) return forgetUnseen(request)
  if (body.length > largest) return undefined
  return replaceResponse(request, reply.status, headersOf(reply), body)
}
export const earlyResponse = (
  request: string,
  { status, body, headers }: EarlyReply,
): Statement => {
  const all = { 'content-type': 'application/json', ...headers }
  return storeResponse(
    request,
    status,
    headersOf({ headers: all }),
    Buffer.from(JSON.stringify(body)),
  )
}
export const responseRecorder = (options: RecorderOptions): BodyRecorder => {
  const { request, reply, largest, add } = options
  return new BodyRecorder(isFinal(reply.status) ? largest : 0, {
    onEnd: bytes => add(statementOf(options, bytes)),
    onFail: () => add(freeKey(request)),
  })
}
/** `body`: undefined where it is too large to be stored. */
const statementOf = (
  { request, reply, mayShowSecret, hasFailed }: RecorderOptions,
  body: Bytes | undefined,
): Statement => {
  if (!isFinal(reply.status) || hasFailed()) return freeKey(request)
  if (mayShowSecret) return useUp(request, true)
  return storeResponse(request, reply.status, headersOf(reply), body)
}
