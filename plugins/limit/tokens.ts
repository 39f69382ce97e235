/** Tokens for limits: an estimate before a call, and the used tokens after it. */
import type { Exchange, Outcome } from '../../engine/plugin.ts'
import { completionTokensOf, promptTokensOf } from '../formats/token-meters.ts'
import { FILES, USAGE } from '../slots.ts'

/** The ratio of English text. In other languages a token has fewer letters, but each letter has
 *  more bytes. */
const BYTES_PER_TOKEN = 4

const FORM = /^\s*multipart\//i

const estimateFromBytes = (bytes: number): bigint =>
  BigInt(Math.max(1, Math.ceil(bytes / BYTES_PER_TOKEN)))

/** Estimates the tokens of a request by the size of its body, without the bytes of files; 1 for a
 *  WebSocket and for a request without a body. Returns a promise only without a content-length, in
 *  few requests, because a promise costs time. */
export const estimateTokens = ({ request, kind, slots }: Exchange): bigint | Promise<bigint> => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (kind === 'websocket' || (length === undefined && coding === undefined)) return 1n
  const fileBytes = slots.get(FILES)
  // A form that no stage has read may be larger than memory.
  if (fileBytes === undefined && FORM.test(request.headers['content-type'] ?? '')) return 1n
  if (length !== undefined) return estimateFromBytes(Number(length) - (fileBytes ?? 0))
  return request.bytes().then(bytes => estimateFromBytes(bytes.length - (fileBytes ?? 0)))
}

/** `estimate`: the result of `estimateTokens` for this call. */
export const countUsedTokens = (
  { slots }: Exchange,
  { status }: Outcome,
  estimate: bigint,
): bigint => {
  const usage = slots.get(USAGE)
  // An error response is not known to have used any tokens.
  if (!usage) return status >= 400 ? 0n : estimate
  const sum = promptTokensOf(usage.meters) + completionTokensOf(usage.meters)
  const total = BigInt(Math.max(0, Math.ceil(sum)))
  // An estimated usage may be too low, so it returns no tokens to the limit.
  return usage.estimated && total < estimate ? estimate : total
}
