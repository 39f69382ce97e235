/** The first event of an upstream's stream: an upstream may report an error there, with status
 *  200. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import type { StreamFacts } from '../formats/format.ts'
import { eventsIn, hasEvent } from '../formats/stream/sse.ts'

/** Bytes: a longer first event is taken as no error. */
const PEEK_LIMIT = 64 * 1024

/** Whether enough of the stream has arrived to read its first event. */
export const hasFirstEvent = (bytes: Bytes): boolean => bytes.length > PEEK_LIMIT || hasEvent(bytes)

/** The error that the first event reports, as the body of an error reply with its status. */
export const errorInFirstEvent = (
  bytes: Bytes | undefined,
  stream: Pick<StreamFacts, 'error'>,
): { readonly status: number; readonly body: Fields } | undefined => {
  const event = bytes && eventsIn(bytes).find(({ data }) => data !== undefined)
  return event && stream.error(event)
}
