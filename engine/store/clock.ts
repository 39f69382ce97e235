/** The monotonic clock of leases, heartbeats and counters. */

/** ms since the machine started: the same clock in every process, and it cannot be set. */
export const monotonic = (): number => Number(process.hrtime.bigint() / 1_000_000n)
