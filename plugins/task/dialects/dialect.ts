/** How tasks look to the clients of one API. */
import type { Fault, Headers, Json, Target } from '../../../engine/plugin.ts'
import type { ImagePlaces } from '../../file-store/image-places.ts'
import type { Fields, State, Task } from '../task.ts'

/** What a dialect may show besides the task. */
export interface TaskContext {
  /** The price of the task, in units of the credit that the dialect counts in. */
  readonly credits: number
}
export interface TaskDialect {
  /** The request as it is kept, echoed and sent: with the values that this API chooses itself.
   *  `random`: from 0 to 1. */
  prepare?(body: Fields, path: string, random: number): Fields
  /** Where a request may name stored files. They are read when it is submitted. */
  readonly images?: ImagePlaces<Fields> & {
    /** The code of a task that names a file which is gone by then. */
    readonly lostCode: string
  }
  /** The request as a target of the task gets it. */
  submitted?(body: Fields, target: Target): Fields
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
    /** The model is not served on this route. */
    notServed(): Fault
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
