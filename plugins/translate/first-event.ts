/** The first event of an upstream's stream: an upstream may report an error there, with status
 *  200. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import type { StreamFacts } from '../formats/format.ts'
import { type Framing, SSE_FRAMING } from '../formats/stream/framing.ts'

/** Bytes: a longer first event is taken as no error. */
const PEEK_LIMIT = 64 * 1024

/** Whether enough of the stream has arrived to read its first event. */
export const hasFirstEvent = (bytes: Bytes, framing: Framing = SSE_FRAMING): boolean =>
  bytes.length > PEEK_LIMIT || framing.createSplitter().push(bytes) !== undefined

/** The error that the first event reports, as the body of an error reply with its status. */
export const errorInFirstEvent = (
  bytes: Bytes | undefined,
  stream: Pick<StreamFacts, 'error' | 'framing'>,
): { readonly status: number; readonly body: Fields } | undefined => {
  const { firstEventIn } = stream.framing ?? SSE_FRAMING
  const event = bytes && firstEventIn(bytes)
  return event && stream.error(event)
}
