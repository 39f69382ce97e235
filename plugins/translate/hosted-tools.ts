/** Counts the hosted-tool usage of an answer where the request offers such tools, by a filter
 *  before all others that read the answer. */
import type { Attempt } from '../../engine/plugin.ts'
import type { Tally, TargetFormat } from '../formats/format.ts'
import { AnswerTally, StreamTally } from '../formats/tally.ts'

export const watchHostedTools = (
  { reply, target }: Attempt,
  { usage }: Pick<TargetFormat, 'usage'>,
  { offers, streamed }: { readonly offers: boolean; readonly streamed: boolean },
): Tally | undefined => {
  const hosted = usage?.hosted
  if (!hosted || !offers) return undefined
  const hostedUsage = hosted.begin(target.traits ?? {})
  reply.through(
    streamed ? new StreamTally(hostedUsage, hosted.marks) : new AnswerTally(hostedUsage),
  )
  return hostedUsage
}
