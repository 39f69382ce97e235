/** What a dialect of errors is: one table of rows by fault code, one by status, and the shape its clients read. */
import type { Headers, Json, Request } from '../../engine/plugin.ts'

/** What a client may learn of a fault. */
export interface View {
  readonly code: string
  readonly status: number
  readonly message: string
  /** The field at fault, as the client named it. */
  readonly param: string | undefined
  /** The request's. */
  readonly id: string
  readonly headers: Headers
}

/** How one fault is called. `type` and `code` mean what the dialect means by them. */
export interface Row {
  readonly type: string
  readonly code?: string | number
  readonly status?: number
  /** `%s` is the field at fault. Without it the fault's own message stands. */
  readonly message?: string
}
export interface Dialect {
  /** Fault code -> row. */
  readonly faults: Readonly<Record<string, Row>>
  /** Status -> row, for every fault that has none of its own; 400 and 500 stand for their whole hundred. */
  readonly statuses: Readonly<Record<number, Row>>
  body(view: View, row: Row): { readonly [key: string]: Json }
  /** Its headers beside those of the fault. */
  headers?(view: View): Headers
  /** Whether its clients ask for a stream; a dialect without it has none. */
  streams?(request: Pick<Request, 'path' | 'json'>): boolean | Promise<boolean>
  /** The body as an event of a stream; a dialect without streams has none. */
  event?(body: { readonly [key: string]: Json }): string
}

/** As OpenAI's and Anthropic's clients ask: in the body. */
export const streamsInBody = async (request: Pick<Request, 'json'>): Promise<boolean> => {
  const body = await request.json()
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}

const UNNAMED: Row = { type: 'error' }
export const rowOf = ({ faults, statuses }: Dialect, { code, status }: View): Row =>
  faults[code] ?? statuses[status] ?? statuses[status < 500 ? 400 : 500] ?? UNNAMED
