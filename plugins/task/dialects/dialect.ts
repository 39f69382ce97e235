/** How tasks look to the clients of one API. */
import type { Fault, Json, Target } from '../../../engine/plugin.ts'
import type { Fields, Task } from '../task.ts'

/** What a dialect may show besides the task. */
export interface TaskContext {
  /** The price of the task, in units of the credit that the dialect counts in. */
  readonly credits: number
}
export interface TaskDialect {
  /** The request as it is kept, echoed and sent: with the values that this API chooses itself.
   *  `random`: from 0 to 1. */
  prepare?(body: Fields, path: string, random: number): Fields
  /** The request as a target of the task gets it. */
  submitted?(body: Fields, target: Target): Fields
  create(task: Task, context: TaskContext): Fields
  query(task: Task, context: TaskContext): Fields
  list(tasks: readonly Task[], contextOf: (task: Task) => TaskContext, next: string): Json
  /** Reads the page of a list. Throws a fault of the dialect. */
  page(query: URLSearchParams, now: number): Page
  cancelled(task: Task): Json
  readonly faults: {
    notFound(): Fault
    /** The model is not served on this route. */
    notServed(): Fault
    /** The task is in a state that cannot be cancelled. */
    notCancellable(state: string): Fault
    tooManyOpen(most: number): Fault
  }
}
interface Page {
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly size: number
  readonly number: number
}
