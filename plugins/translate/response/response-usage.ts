/** Usage of answers whose text nothing is estimated from: by the format's own estimate, or by the
 *  meters of the decoded answer. */
import type { Attempt, Bytes } from '../../../engine/plugin.ts'
import type { HostedUsage, UsageEstimate } from '../../formats/format.ts'
import type { ReportedCounts } from '../../formats/stream/response-listener.ts'
import { type Meters, USAGE } from '../../slots.ts'

/** Reads the usage of one answer, and puts it into the slot USAGE. */
export interface ResponseUsage {
  /** Takes bytes of the answer as the upstream sent them. `counts`: they may contain the upstream's
   *  counts of everything sent so far. */
  addBytes(bytes: Bytes, counts: boolean): void
  /** Sets the final usage. `whole`: the answer is complete. */
  finish(whole: boolean, reported: ReportedCounts): void
}

/** The usage so far is set with each chunk: the crash checkpoint of the hold includes it. */
export const estimatedUsage = (
  { exchange: { slots } }: Attempt,
  estimate: UsageEstimate,
): ResponseUsage => {
  slots.set(USAGE, estimate.usage(undefined, false))
  return {
    addBytes(bytes) {
      estimate.observe(bytes)
      slots.set(USAGE, estimate.usage(undefined, false))
    },
    finish: (whole, { counts }) => slots.set(USAGE, estimate.usage(counts, whole)),
  }
}

export const decodedUsage = (
  { exchange: { slots } }: Attempt,
  hostedUsage: HostedUsage | undefined,
): ResponseUsage => ({
  addBytes() {},
  finish(whole, { meters }) {
    slots.set(USAGE, {
      meters: withHostedCalls(meters, hostedUsage),
      estimated: !whole || meters === undefined,
    })
  },
})

export const withHostedCalls = (
  meters: Meters | undefined,
  hostedUsage: HostedUsage | undefined,
): Meters =>
  hostedUsage?.isConcluded
    ? { ...hostedUsage.meters, ...meters }
    : { ...meters, ...hostedUsage?.meters }
