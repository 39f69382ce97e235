/** How tasks look to the clients of one API. */
import type { Fault, Headers, Json, Target } from '../../../engine/plugin.ts'
import type { ImagePlaces } from '../../file-store/image-places.ts'
import type { Fields, State, Task } from '../task.ts'
import type { TaskSchemas } from './schemas.ts'

/** Data that a dialect may show besides the task. */
export interface TaskContext {
  /** The price of the task, in units of the credit that the dialect counts in. */
  readonly credits: number
}
export interface TaskDialect {
  readonly schemas: TaskSchemas
  /** Where errors of the providers behind it have their codes: an answer from 500 on that has one
   *  says that nothing was created. */
  readonly refusals: readonly string[]
  /** The beginning of the ids of its tasks. */
  readonly idPrefix?: string
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
  /** Reads the page of a list, of a POST from the members of its body. Throws a fault of the
   *  dialect. */
  page(query: URLSearchParams, now: number): Page | CursorPage
  cancelled(task: Task): Json
  /** How busy the modes are. Absent in dialects without such an endpoint. `now`: ms since 1970. */
  speed?(modes: readonly ModeFigures[], now: number): Json
  /** Announces states; the body is the answer of `query`. Absent: creates name no URL. */
  readonly callback?: CallbackDialect
  readonly faults: {
    notFound(id: string): Fault
    /** The model is not served on this route. */
    notServed(): Fault
    /** The task is in a state that cannot be cancelled. */
    notCancellable(state: string): Fault
    tooManyOpen(most: number): Fault
  }
}
export interface ModeFigures {
  readonly name: string
  /** Tasks that the upstream has. */
  readonly running: number
  /** Tasks that wait to be submitted. */
  readonly queued: number
  /** Tasks that the upstream may have at once; undefined: the gateway sets no limit. */
  readonly capacity: number | undefined
  /** Another task would have to wait. */
  readonly isFull: boolean
  /** From submit to end, the mean of the latest tasks; undefined if none has succeeded. */
  readonly seconds: number | undefined
}
/** Further members of a dialect with endpoints for results. */
export interface ResultDialect {
  /** The variant of the result that a download asks for. Throws a fault of the dialect. */
  variantOf(query: URLSearchParams): string
  deleted(task: Task): Json
  readonly resultFaults: {
    /** The task has not succeeded. */
    noContent(task: Task): Fault
    noVariant(variant: string): Fault
    /** No upstream changes finished results. */
    noRemix(task: Task): Fault
  }
}
export interface CallbackDialect {
  /** The member of a create that has the URL. No upstream gets it. */
  readonly member: string
  /** The word for a state that is announced. A task announces each word once. */
  topicOf(state: State): string | undefined
  /** The announcement, if it is not the answer of `query`. */
  body?(task: Task): Fields
  signatureHeaders(input: SignatureInput): Headers
  /** The URL in `member` cannot be used. */
  fault(problem: string): Fault
}
interface SignatureInput {
  readonly url: string
  /** The API key that created the task. */
  readonly key: string
  /** ms since 1970. */
  readonly at: number
}
export interface Page {
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly size: number
  readonly number: number
  readonly filters?: Filters
}
/** A task is listed if each list that is there has its value. */
export interface Filters {
  readonly ids?: readonly string[]
  readonly states?: readonly State[]
  readonly models?: readonly string[]
  /** Paths of the creates. */
  readonly paths?: readonly string[]
  /** Of the requests. */
  readonly resolutions?: readonly string[]
}
/** A page that follows a task. */
export interface CursorPage {
  readonly order: 'asc' | 'desc'
  /** The id of that task, which may be deleted; undefined: the first page. */
  readonly after: string | undefined
  readonly size: number
}
