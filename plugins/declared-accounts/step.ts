/** A step of `tollgate apply`. */
import type { Json } from '../../engine/plugin.ts'

/** An operation with its arguments. */
export interface Step {
  readonly operation: string
  readonly args: { readonly [name: string]: Json }
  /** The object that changes: `key app of acme`. */
  readonly object: string
  readonly before: string
  readonly after: string
  /** The operation would refuse it, as `after` says. */
  readonly isRefused?: boolean
  /** The key that an earlier step makes, whose number is the argument `key`: `ACCOUNT/NAME`. */
  readonly newKey?: string
}
