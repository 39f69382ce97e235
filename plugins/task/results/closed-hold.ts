/** The end of the hold of a task: its settlement or release, what served it, and its charge in the
 *  metrics by tag. */
import type { Host, HostBase, Statement } from '../../../engine/plugin.ts'
import { unitsOf } from '../../billing/money.ts'
import { priceKept, releaseKept, settleKept } from '../../ledger/kept-hold.ts'
import { servedByTask } from '../../ledger/views/served-by.ts'
import { TAGS, type Tags, type Usage } from '../../slots.ts'
import { TagMetrics } from '../../tagging/metrics.ts'
import type { Task } from '../task.ts'
import { usageAtEnd } from '../usage.ts'

/** Settles the hold of a task that succeeded, by `usage` or by what the request ordered, or
 *  releases that of one that failed. */
export const closeHold = (
  task: Task,
  end: 'succeeded' | 'failed',
  usage: Usage | undefined = usageAtEnd(task),
  served?: string | null,
): readonly Statement[] => {
  const { hold } = task
  if (!hold) return []
  const now = Date.now()
  return [
    end === 'succeeded' && usage ? settleKept(hold, usage, now, served) : releaseKept(hold, now),
  ]
}

/** The target that served a task, as its charge stores it. */
export const servedAtEnd = (
  task: Pick<Task, 'target' | 'created' | 'slots' | 'upstreamId' | 'reported'>,
  endedAt: number,
  upstreams: HostBase['upstreams'],
): string => {
  const { upstreamId: id, reported: { model, attributes } = {} } = task
  return servedByTask(task, upstreams, {
    endedAt,
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(attributes && { attributes }),
  })
}

/** Counts the charge of a task that succeeded: the call that made the task ended before. `usage`:
 *  see `closeHold`. */
export const countTagged = (
  host: Pick<Host, 'metrics' | 'share'>,
  task: Task,
  usage: Usage | undefined = usageAtEnd(task),
): void => {
  const tags = task.slots[TAGS.name] as Tags | undefined
  if (!tags || !task.hold || !usage) return
  const { charged } = priceKept(task.hold, usage)
  new TagMetrics(host).countCharge(tags, unitsOf(charged))
}
