/** The timeouts of a gateway's processes, shortened for tests. */
import { TIMEOUTS, type Timeouts } from '../../engine/store/timeouts.ts'

/** Scales all timeouts to a heartbeat of so many ms. */
export const timeoutsAt = (heartbeat: number): Timeouts => {
  const entries = Object.entries(TIMEOUTS).map(([name, ms]) => [
    name,
    (ms * heartbeat) / TIMEOUTS.heartbeat,
  ])
  return Object.fromEntries(entries) as Timeouts
}
