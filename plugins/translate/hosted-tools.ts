/** Counts the hosted-tool usage of an answer where the request offers such tools, by a filter
 *  before all others that read the answer. */
import type { Attempt } from '../../engine/plugin.ts'
import type { HostedUsage, TargetFormat } from '../formats/format.ts'
import { AnswerUsageFilter, StreamUsageFilter } from '../formats/hosted-usage.ts'

export const watchHostedTools = (
  { reply, target }: Attempt,
  { usage }: Pick<TargetFormat, 'usage'>,
  { offers, streamed }: { readonly offers: boolean; readonly streamed: boolean },
): HostedUsage | undefined => {
  const hosted = usage?.hostedTools
  if (!hosted || !offers) return undefined
  const hostedUsage = hosted.begin(target.traits ?? {})
  reply.through(
    streamed
      ? new StreamUsageFilter(hostedUsage, hosted.marks)
      : new AnswerUsageFilter(hostedUsage),
  )
  return hostedUsage
}
