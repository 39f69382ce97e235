/** Makes run-time faults from tables: `CODE: [status, 'message with %s', traits]`. */
import { format, types } from 'node:util'
import type { ErrorRows, Fault, Headers } from './plugin.ts'

export interface ErrorTraits {
  readonly retryable?: boolean
  /** Whether the client may read the message. By default, unless the status is 500. */
  readonly expose?: boolean
  readonly headers?: Headers
  readonly param?: string
  /** See `Fault`. */
  readonly paid?: boolean
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
    this.as = traits.as
  }
}

/** Makes the constructor of one owner's errors. Arguments fill the `%s` of a row. */
export const errors =
  <Table extends ErrorTable>(table: Table) =>
  (code: keyof Table & string, args: readonly unknown[] = [], traits: ErrorTraits = {}) => {
    const [status, message, own] = table[code] ?? [500, code]
    return new TollgateError(code, status, format(message, ...args), { ...own, ...traits })
  }

/** Makes a fault of any thrown value: one that is no fault becomes a hidden 500. */
export const asFault = (thrown: unknown): Fault => {
  if (!isReadable(thrown))
    return internal('a stage threw an object whose properties cannot be read', undefined)
  return isFault(thrown) ? thrown : internal(textOf(thrown), thrown)
}
const internal = (message: string, cause: unknown): TollgateError =>
  new TollgateError('INTERNAL', 500, message, { expose: false, cause })

/** Whether the members can be read without an exception: a Proxy or an accessor may throw. */
const isReadable = (thrown: unknown): boolean => {
  if (types.isProxy(thrown)) return false
  // A TollgateError has no accessors; reading its stack would cost more than making the error.
  if (typeof thrown !== 'object' || thrown === null || thrown instanceof TollgateError) return true
  try {
    for (const name of MEMBERS_READ) Reflect.get(thrown, name)
    return true
  } catch {
    return false
  }
}
/** Members of a thrown value that are read. */
const MEMBERS_READ = 'code status message expose retryable headers param cause stack'.split(' ')
/** A thrown value, if it can be the cause of a fault. */
export const causeOf = (thrown: unknown): unknown => (isReadable(thrown) ? thrown : undefined)

/** The message of a thrown value. */
export const textOf = (thrown: unknown): string => {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown)
  } catch {
    return 'a value without a text'
  }
}

const isFault = (thrown: unknown): thrown is Fault =>
  typeof thrown === 'object' &&
  thrown !== null &&
  typeof (thrown as Fault).code === 'string' &&
  typeof (thrown as Fault).status === 'number' &&
  typeof (thrown as Fault).message === 'string'
