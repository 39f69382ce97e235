/** Estimates the tokens of a request, and counts the tokens it has used. */
import type { Exchange, Outcome } from '../../engine/plugin.ts'
import { FILES, type Meter, USAGE } from '../slots.ts'

/** Meters in tokens; the others count calls, images, seconds. */
const TOKENS: readonly Meter[] = [
  'input',
  'cached',
  'cache_write',
  'cache_write_1h',
  'output',
  'thinking',
  'audio_input',
  'audio_output',
  'image_input',
]
/** For English text; in other languages a token has fewer letters, but those have more bytes. */
const BYTES_PER_TOKEN = 4

const FORM = /^\s*multipart\//i

const forBytes = (bytes: number): bigint => BigInt(Math.max(1, Math.ceil(bytes / BYTES_PER_TOKEN)))

/** At least 1, without the bytes of files. Creates no promise if content-length is set, as in
 *  nearly every request. */
export const estimateTokens = ({ request, kind, slots }: Exchange): bigint | Promise<bigint> => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (kind === 'websocket' || (length === undefined && coding === undefined)) return 1n
  const files = slots.get(FILES)
  // A form that no stage has read may be larger than memory.
  if (files === undefined && FORM.test(request.headers['content-type'] ?? '')) return 1n
  if (length !== undefined) return forBytes(Number(length) - (files ?? 0))
  return request.bytes().then(bytes => forBytes(bytes.length - (files ?? 0)))
}

/** The tokens that a call has used. `estimate`: the estimate at its start. */
export const tokensUsed = ({ slots }: Exchange, { status }: Outcome, estimate: bigint): bigint => {
  const usage = slots.get(USAGE)
  // Without a usage report a refused call counts as 0, any other call as its estimate.
  if (!usage) return status >= 400 ? 0n : estimate
  let sum = 0
  for (const meter of TOKENS) sum += usage.meters[meter] ?? 0
  const total = BigInt(Math.max(0, Math.ceil(sum)))
  return usage.estimated && total < estimate ? estimate : total
}
