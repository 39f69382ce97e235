/** How tasks look to the clients of one API. */
import type { Fault, Headers, Json } from '../../../engine/plugin.ts'
import type { Fields, State, Task } from '../task.ts'

/** What a dialect may show besides the task. */
export interface TaskContext {
  /** Units of the credit that the dialect counts in, for the amount held. */
  readonly credits: number
}
export interface TaskDialect {
  create(task: Task, context: TaskContext): Fields
  query(task: Task, context: TaskContext): Fields
  list(tasks: readonly Task[], contextOf: (task: Task) => TaskContext, next: string): Json
  /** Reads the page of a list. Throws a fault of the dialect. */
  page(query: URLSearchParams, now: number): Page
  cancelled(task: Task): Json
  /** Announces states; the body is the answer of `query`. */
  readonly callback: CallbackDialect
  readonly faults: {
    /** The URL for callbacks in this member of the create cannot be used. */
    callback(problem: string, member: string): Fault
    notFound(): Fault
    /** The task is in a state that cannot be cancelled. */
    notCancellable(state: string): Fault
    tooManyOpen(most: number): Fault
  }
}
export interface CallbackDialect {
  /** The member of a create that has the URL. No upstream gets it. */
  readonly member: string
  /** The word for a state that is announced. A task announces each word once. */
  topicOf(state: State): string | undefined
  signatureHeaders(input: SignatureInput): Headers
}
interface SignatureInput {
  readonly url: string
  /** The API key that created the task. */
  readonly key: string
  /** ms since 1970. */
  readonly at: number
}
interface Page {
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly size: number
  readonly number: number
}
