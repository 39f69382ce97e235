/** Ends tasks whose owner may start no more work, before their request is submitted. */
import type { Host } from '../../../engine/plugin.ts'
import { refusalOfOwner } from '../../credentials/work-owner.ts'
import type { Mover } from '../moves.ts'
import { TASK_ERRORS } from '../task.ts'

/** Returns whether the task has ended so. */
export const endWithOwner = async (host: Host, mover: Mover): Promise<boolean> => {
  const refusal = await refusalOfOwner(host, mover.task.slots)
  if (refusal) await mover.fail({ code: TASK_ERRORS.cancelled, message: refusal.message })
  return refusal !== undefined
}
