/** The monotonic clock that leases, heartbeats and counters go by. */

/** hrtime counts from the machine's start: every process reads the same clock, and nobody can set it. */
export const monotonic = (): number => Number(process.hrtime.bigint() / 1_000_000n)
