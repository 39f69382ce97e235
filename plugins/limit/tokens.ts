/** How many tokens a request will need, and how many it has used. */
import type { Exchange, Outcome } from '../../engine/plugin.ts'
import { FILES, type Meter, USAGE } from '../slots.ts'

/** What is counted in tokens; the other meters are calls, pictures, seconds. */
const TOKENS: readonly Meter[] = [
  ...(['input', 'cached', 'cache_write', 'cache_write_1h', 'output', 'thinking'] as const),
  ...(['audio_input', 'audio_output', 'image_input'] as const),
]
/** Of English text; of others a token is fewer letters, but those have more bytes. */
const BYTES_PER_TOKEN = 4

const forBytes = (bytes: number): bigint => BigInt(Math.max(1, Math.ceil(bytes / BYTES_PER_TOKEN)))

/** At least one. Without a promise where the head says the size: nearly always. Files are no text. */
export const estimateTokens = ({ request, kind, slots }: Exchange): bigint | Promise<bigint> => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (kind === 'websocket' || (length === undefined && coding === undefined)) return 1n
  const files = slots.get(FILES) ?? 0
  if (length !== undefined) return forBytes(Number(length) - files)
  return request.bytes().then(bytes => forBytes(bytes.length - files))
}

/** What a call that was estimated at so much has used in the end. */
export const tokensUsed = ({ slots }: Exchange, { status }: Outcome, estimated: bigint): bigint => {
  const usage = slots.get(USAGE)
  // Nobody counted: a call that was refused used nothing, any other what was thought.
  if (!usage) return status >= 400 ? 0n : estimated
  let sum = 0
  for (const meter of TOKENS) sum += usage.meters[meter] ?? 0
  const counted = BigInt(Math.max(0, Math.ceil(sum)))
  return usage.estimated && counted < estimated ? estimated : counted
}
