/** The timeouts of a gateway's processes, for a test that cannot wait for them. */
import { TIMEOUTS, type Timeouts } from '../../engine/store/timeouts.ts'

/** In the same proportions, at a heartbeat of so many ms. */
export const timeoutsAt = (heartbeat: number): Timeouts => {
  const scaled = Object.entries(TIMEOUTS).map(([name, ms]) => [
    name,
    (ms * heartbeat) / TIMEOUTS.heartbeat,
  ])
  return Object.fromEntries(scaled) as Timeouts
}
