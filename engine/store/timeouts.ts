/** Timeouts of the membership, the reaper and the leases: when a process counts as suspect, silent
 *  or dead; and the factor for limits between processes of a gateway. */

/** All in ms. */
export interface Timeouts {
  /** Interval of heartbeats. */
  readonly heartbeat: number
  /** Interval of checks of the peers; `disconnected` and `silent` are counted in checks. */
  readonly check: number
  /** After this long without a confirmed heartbeat a process suspects that peers consider it dead,
   *  and stops work that they may take over. Shorter than `disconnected` and `silent`. */
  readonly suspect: number
  /** After this long without a heartbeat and without its connection to PostgreSQL, a process of
   *  another machine is dead. */
  readonly disconnected: number
  /** After this long without a heartbeat a process loses its leases. Without further information it
   *  is dead. */
  readonly silent: number
  /** Interval of checks for free leases. */
  readonly lease: number
}

export const TIMEOUTS: Timeouts = {
  heartbeat: 1_000,
  check: 500,
  suspect: 3_250,
  disconnected: 3_500,
  silent: 4_000,
  lease: 1_000,
}

/** TOLLGATE_PATIENCE, for machines that are slow or that other programs keep busy. */
const factor = Number(process.env.TOLLGATE_PATIENCE)
const PATIENCE = factor >= 1 ? Math.min(factor, 60) : 1

/** A time limit of a usual machine, in ms of this one. */
export const patient = (ms: number): number => Math.ceil(ms * PATIENCE)
