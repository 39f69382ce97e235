/** Known refusals of providers, by cell, with the reason. The long walk fails for an exception
 *  that no longer occurs. */

export interface Exception {
  /** Of `client -> format/family`. */
  readonly cells: RegExp
  readonly rule: string
  readonly message?: RegExp
  readonly reason: string
}
export const EXCEPTIONS: readonly Exception[] = []
