/** A target at one address: what an attempt is aimed at. */
import type { Target } from '../plugin.ts'
import type { Origin } from './origin.ts'
import type { Upstream } from './upstreams.ts'

export interface Candidate {
  readonly target: Target
  readonly upstream: Upstream
  readonly origin: Origin
  /** Path of the address, without a slash at its end. */
  readonly base: string
}
