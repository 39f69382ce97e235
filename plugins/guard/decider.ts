/** A service that decides about whole texts, for a guard: a webhook of the operator, or a model. */
import type { Exchange } from '../../engine/plugin.ts'
import type { Side } from './section.ts'

export interface Question {
  readonly exchange: Exchange
  readonly side: Side
  readonly texts: readonly string[]
}
export interface Decision {
  readonly action: 'pass' | 'block' | 'mask'
  /** For `mask`: in place of the texts, in their order. */
  readonly texts: readonly string[]
  /** The labels that a model chose. */
  readonly labels: readonly string[]
}
/** The decider refuses the texts, or they are more than it reads: another try changes nothing. */
export class UnreadableTexts extends Error {}
/** Statuses by which webhooks and providers refuse texts: too long, or filtered. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422])
/** Throws `UnreadableTexts` for such a status. */
export const checkStatus = (status: number): void => {
  if (REFUSING.has(status)) throw new UnreadableTexts(`it answered ${status}`)
}
export interface Decider {
  /** For messages: `webhook`. */
  readonly kind: string
  /** Rejects if it cannot decide; with `UnreadableTexts` if the texts are the reason. */
  decide(question: Question): Promise<Decision>
}
