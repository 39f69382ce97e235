/** When a process counts as suspect, silent or dead: the one table of timeouts of the membership,
 *  its reaper and its leases. */

/** All in ms. */
export interface Timeouts {
  /** Between two heartbeats of a process. */
  readonly heartbeat: number
  /** Between two looks at the heartbeats of the peers; the two spans below are counted in looks. */
  readonly look: number
  /** Without an answered heartbeat a process suspects that its peers take it for dead, and stops
   *  what they may take over. Shorter than both spans below. */
  readonly suspect: number
  /** Without a heartbeat and without its connection to PostgreSQL a process of another machine is
   *  dead. */
  readonly disconnected: number
  /** Without a heartbeat a process loses its leases. It is dead where nothing else is known of it.
   *  */
  readonly silent: number
  /** Between two looks for leases that are free. */
  readonly lease: number
}

export const TIMEOUTS: Timeouts = {
  heartbeat: 1_000,
  look: 500,
  suspect: 3_250,
  disconnected: 3_500,
  silent: 4_000,
  lease: 1_000,
}
