/** Requests that break the rules of one format. */

interface BrokenCase {
  /** Members that replace those of the correct request. */
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
  /** Another model than that of the correct request. */
  readonly model?: string
  readonly path?: string
}
export interface RuleCases {
  readonly model: string
  readonly good: object
  /** Rule -> what is wrong -> a request. */
  readonly broken: Readonly<Record<string, Readonly<Record<string, BrokenCase>>>>
}
