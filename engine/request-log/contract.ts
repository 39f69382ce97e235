/** The request log as its readers see it: records, filters, pages. Types only. */
import type { Json } from '../store/contract.ts'

/** One finished request: a line of the request log, with the fields that plugins add to it. */
export interface RequestRecord {
  /** ms since 1970, at the end of the request. */
  readonly time: number
  readonly id: string
  readonly status: number
  readonly [field: string]: Json
}
export interface RequestFilter {
  /** Fields that must have one of these values, written as text: `{ route: ['home'] }`. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
  /** Fields that must not have one of these values; a record without the field passes. */
  readonly except?: Readonly<Record<string, readonly string[]>>
  /** A status such as `429`, or a class such as `5xx`. */
  readonly status?: string
  /** ms since 1970; `until` is exclusive. */
  readonly since?: number
  readonly until?: number
}
export interface RequestPage {
  /** Latest first. */
  readonly rows: readonly RequestRecord[]
  /** Continues with older records; null at the end. */
  readonly next: string | null
}
/** The finished requests of this machine, read from the files in `requests/` of the data folder. */
export interface RequestLog {
  readonly folder: string
  page(filter: RequestFilter, limit: number, cursor?: string): Promise<RequestPage>
  /** The record of a request, by its id or by the id that its client sent. */
  find(id: string): Promise<RequestRecord | undefined>
  /** Yields the records that are added from now on, of all workers, in lists, until the signal
   *  aborts. */
  follow(filter: RequestFilter, signal: AbortSignal): AsyncGenerator<readonly RequestRecord[]>
}
