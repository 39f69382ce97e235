/** Counts the hosted-tool usage of an answer if the request offers such tools, by a filter before
 *  all others that read the answer. */
import type { Attempt } from '../../engine/plugin.ts'
import type { HostedUsage, TargetFormat } from '../formats/format.ts'
import { AnswerUsageFilter, StreamUsageFilter } from '../formats/stream/hosted-usage.ts'

export const watchHostedTools = (
  { reply, target }: Attempt,
  { usage }: Pick<TargetFormat, 'usage'>,
  { offers, isStream }: { readonly offers: boolean; readonly isStream: boolean },
): HostedUsage | undefined => {
  const facts = usage?.hostedTools
  if (!facts || !offers) return undefined
  const hostedUsage = facts.begin(target.traits ?? {})
  reply.through(
    isStream ? new StreamUsageFilter(hostedUsage, facts.marks) : new AnswerUsageFilter(hostedUsage),
  )
  return hostedUsage
}
