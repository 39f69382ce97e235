/** Puts a tally of hosted tools in front of whoever reads an answer next, where the request offers such tools. */
import type { Attempt } from '../../engine/plugin.ts'
import type { Tally, TargetFormat } from '../formats/format.ts'
import { AnswerTally, StreamTally } from '../formats/tally.ts'

export const tallied = (
  { reply, target }: Attempt,
  { usage }: Pick<TargetFormat, 'usage'>,
  { offers, streamed }: { readonly offers: boolean; readonly streamed: boolean },
): Tally | undefined => {
  const hosted = usage?.hosted
  if (!hosted || !offers) return undefined
  const tally = hosted.begin(target.traits ?? {})
  reply.through(streamed ? new StreamTally(tally, hosted.marks) : new AnswerTally(tally))
  return tally
}
