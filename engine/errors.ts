/** Creates run-time faults from tables: `CODE: [status, 'message with %s', traits]`. */
import { format, types } from 'node:util'
import type { ErrorRows, Fault, Headers } from './plugin.ts'

export interface ErrorTraits {
  readonly retryable?: boolean
  /** Whether the client may read the message. Defaults to true, except for status 500. */
  readonly expose?: boolean
  readonly headers?: Headers
  readonly param?: string
  /** See `Fault`. */
  readonly paid?: boolean
  /** See `Fault`. */
  readonly refusesKey?: boolean
  /** See `Fault`. */
  readonly as?: ErrorRows
  readonly cause?: unknown
}
export type ErrorTable = Readonly<
  Record<string, readonly [status: number, message: string, traits?: ErrorTraits]>
>

export class TollgateError extends Error implements Fault {
  readonly code: string
  readonly status: number
  readonly expose: boolean
  readonly retryable: boolean
  readonly headers: Headers | undefined
  readonly param: string | undefined
  readonly paid: boolean
  readonly refusesKey: boolean
  readonly as: ErrorRows | undefined

  constructor(code: string, status: number, message: string, traits: ErrorTraits = {}) {
    super(message, traits.cause === undefined ? undefined : { cause: traits.cause })
    this.code = code
    this.status = status
    this.expose = traits.expose ?? status !== 500
    this.retryable = traits.retryable ?? false
    this.headers = traits.headers
    this.param = traits.param
    this.paid = traits.paid ?? false
    this.refusesKey = traits.refusesKey ?? false
    this.as = traits.as
  }
}

/** Returns a function that creates faults of a table. `args` fill the `%s` of the message. */
export const errors =
  <Table extends ErrorTable>(table: Table) =>
  (code: keyof Table & string, args: readonly unknown[] = [], traits: ErrorTraits = {}) => {
    const [status, message, own] = table[code] ?? [500, code]
    return new TollgateError(code, status, format(message, ...args), { ...own, ...traits })
  }

/** Converts any thrown value to a fault; any but a fault gets status 500 and is not exposed. */
export const asFault = (error: unknown): Fault => {
  if (!isReadable(error))
    return internal('a stage threw an object whose properties cannot be read', undefined)
  return isFault(error) ? error : internal(textOf(error), error)
}
const internal = (message: string, cause: unknown): TollgateError =>
  new TollgateError('INTERNAL', 500, message, { expose: false, cause })

/** Whether all members can be read: a Proxy or an accessor may throw. */
const isReadable = (error: unknown): boolean => {
  if (types.isProxy(error)) return false
  // A TollgateError has no accessors, and reading its stack would cost more than creating it.
  if (typeof error !== 'object' || error === null || error instanceof TollgateError) return true
  try {
    for (const name of MEMBERS_READ) Reflect.get(error, name)
    return true
  } catch {
    return false
  }
}
/** The members of a thrown value that this project reads. */
const MEMBERS_READ = 'code status message expose retryable headers param cause stack'.split(' ')
/** A thrown value as the cause of a fault; undefined if its members cannot be read. */
export const causeOf = (error: unknown): unknown => (isReadable(error) ? error : undefined)

/** The message of a thrown value. */
export const textOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'a value without a text'
  }
}

const isFault = (error: unknown): error is Fault =>
  typeof error === 'object' &&
  error !== null &&
  typeof (error as Fault).code === 'string' &&
  typeof (error as Fault).status === 'number' &&
  typeof (error as Fault).message === 'string'
