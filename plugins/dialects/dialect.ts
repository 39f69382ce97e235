/** Interface of an error dialect: rows by fault code, rows by status, and the shape of the body. */
import type { Headers, Json, Request } from '../../engine/plugin.ts'
import type { Shape } from '../shapes.ts'

/** The part of a fault that clients see. */
export interface ErrorView {
  readonly code: string
  readonly status: number
  readonly message: string
  /** The field at fault, as the client wrote it. */
  readonly param: string | undefined
  /** Request id. */
  readonly id: string
  readonly headers: Headers
}

/** How a dialect encodes one fault. `type` and `code` are the dialect's members. */
export interface ErrorRow {
  readonly type: string
  readonly code?: string | number
  readonly status?: number
  /** Machine-readable members, in dialects that have them. */
  readonly details?: { readonly [key: string]: Json }
  /** Replaces the fault's message; `%s` is the field at fault. */
  readonly message?: string
  /** All fields at fault, for `%s`. */
  readonly fields?: string
}
/** Units of rate limits; clients read headers of these only. */
export type LimitUnit = 'requests' | 'tokens'
/** The names of rate-limit headers, and how they write the time until a window is full again. */
interface LimitHeaders {
  limit(unit: LimitUnit): string
  remaining(unit: LimitUnit): string
  reset(unit: LimitUnit): string
  until(ms: number): string
}
export interface Dialect {
  /** Fault code -> row. */
  readonly faults: Readonly<Record<string, ErrorRow>>
  /** Status -> row, for faults without a row in `faults`; 400 and 500 are the defaults of 4xx and
   *  5xx. */
  readonly statuses: Readonly<Record<number, ErrorRow>>
  body(view: ErrorView, row: ErrorRow): { readonly [key: string]: Json }
  /** JSON Schema of these bodies. */
  readonly schema: Shape
  /** Additional headers. */
  headers?(view: ErrorView): Headers
  /** Absent in dialects without rate-limit headers. */
  readonly limitHeaders?: LimitHeaders
  /** Whether a request requests a stream of events; absent in dialects without streams. */
  streams?(request: Pick<Request, 'path' | 'query' | 'json'>): boolean | Promise<boolean>
  /** A ping as a stream event; absent if it is a comment. */
  readonly ping?: string
  /** The body as a stream event; absent in dialects without streams. */
  event?(body: { readonly [key: string]: Json }, request: Pick<Request, 'path'>): string
}

/** Clients of OpenAI, of Anthropic and of Google's interactions request a stream in the body. */
export const isStreamInBody = async (request: Pick<Request, 'json'>): Promise<boolean> => {
  const body = await request.json()
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}

const DEFAULT_ROW: ErrorRow = { type: 'error' }
/** The row of a fault: the members that its owner sets, over the dialect's own row. */
export const rowOf = (
  { faults, statuses }: Dialect,
  { code, status }: ErrorView,
  ownRow: Partial<ErrorRow> | undefined,
): ErrorRow => {
  const row = faults[code] ?? statuses[status] ?? statuses[status < 500 ? 400 : 500] ?? DEFAULT_ROW
  return ownRow ? { ...row, ...ownRow } : row
}
