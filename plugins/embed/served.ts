/** How the answer to a request for embeddings was made. */
import type { Attempt } from '../../engine/plugin.ts'
import { droppedTiersOf } from '../conversion/dropped-tiers.ts'
import type { EmbeddingAnswer } from '../embeddings/hub.ts'
import type { Fields } from '../formats/fields.ts'
import { mergeServed, servedByHeaders } from '../formats/served.ts'
import type { Served } from '../slots.ts'

/** The facts in the headers and the body of an answer about how it was made. `body`: of the
 *  request; `dropped`: its members that the target does not get. */
export const servedIn = (
  { served = {} }: EmbeddingAnswer,
  { exchange, reply }: Pick<Attempt, 'exchange' | 'reply'>,
  { body, dropped }: { readonly body: Fields; readonly dropped: readonly string[] },
): Served => {
  const { standards } = droppedTiersOf({ body }, dropped, exchange.progress.upstream) ?? {}
  const byHeaders = servedByHeaders(reply.headers, exchange)
  return mergeServed(mergeServed(standards ? { attributes: standards } : {}, byHeaders), served)
}
