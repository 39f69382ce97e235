/** Which targets of one address are warm. Times in ms, monotonic. */
import type { HealthListener } from './health.ts'

/** Of one target, until a time. `ejections`: those of the address before it. */
export interface Warmth {
  readonly until: number
  readonly ejections: number
  /** No warm-up begins before this time; Infinity: one is under way. */
  readonly nextAt: number
}
/** By names of targets. Lives with the address, so that it outlives reloads. */
export type WarmTargets = Map<string, Warmth>

/** How targets of an upstream are warmed up: by a POST of this JSON. */
export interface WarmUpRules {
  readonly path: string
  /** A text that is `*` is the name of the target. */
  readonly body: unknown
  /** How long the server keeps what it has prepared after a request; undefined: always. */
  readonly idle?: number | undefined
  readonly listen?: ((address: string) => HealthListener) | undefined
}

/** Clients may choose names of targets. */
const MOST_TARGETS = 1_000
const COLD: Warmth = { until: -Infinity, ejections: 0, nextAt: 0 }

export const warmthOf = (targets: WarmTargets, name: string): Warmth => targets.get(name) ?? COLD
/** A target that is not warm, and not warmed up before `nextAt`. */
export const setCold = (targets: WarmTargets, name: string, nextAt: number): void =>
  setWarmth(targets, name, { ...COLD, nextAt })
export const setWarmth = (targets: WarmTargets, name: string, warmth: Warmth): void => {
  if (targets.size >= MOST_TARGETS && !targets.has(name)) targets.clear()
  targets.set(name, warmth)
}
/** Names of targets that are being warmed up. */
export const warmingIn = (targets: WarmTargets): readonly string[] =>
  [...targets].flatMap(([name, { nextAt }]) => (nextAt === Infinity ? [name] : []))
