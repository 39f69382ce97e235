/** Helpers of the engine and of plugins. This file imports types only. */
import type { Bytes, Document, Json, Slot } from './plugin.ts'

/** Whether a value is an object with members: neither null nor an array. */
export const isFields = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The routes of a document that is being checked, with their places. Those that are not maps are
 *  left out: their schema reports them. */
export const routesIn = ({ routes }: Document) =>
  (Array.isArray(routes) ? routes : []).flatMap((route, index) =>
    isFields(route) ? [[index, route] as const] : [],
  )

/** The same memory as a Buffer. */
export const asBuffer = (bytes: Bytes): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** Bytes from which work over a value takes turns. */
export const LARGE = 2 ** 20
const createTurns = () => {
  let last: Promise<void> = Promise.resolve()
  return (): Promise<void> => {
    last = last.then(() => new Promise(resolve => void setImmediate(resolve)))
    return last
  }
}
/** Resolves in a turn of the event loop in which no other caller resolves: many large bodies at
 *  once would else be worked on in one turn, and nothing else meanwhile. */
export const largeTurn = createTurns()

/** A cut text of an outline: its kept characters and the mark, which is U+007F, a line break, the
 *  number of the cut text, a colon, its bytes and U+007F. */
const CUT = /^([^\u007f]*)\u007f\n(\d+):(\d+)\u007f$/
const MARK = /\u007f\n\d+:\d+\u007f/
export interface CutText {
  /** The kept characters. */
  readonly start: string
  readonly number: number
  /** Bytes, in which an escape counts as one and `\u` with its digits as three. */
  readonly size: number
}
/** Undefined: the text is whole, or has more than one cut text. Only for an outline: elsewhere a
 *  client may have written such a text. */
export const cutTextOf = (text: string): CutText | undefined => {
  const [, start = '', number, size] = (text.endsWith('\u007f') && CUT.exec(text)) || []
  return number === undefined ? undefined : { start, number: Number(number), size: Number(size) }
}
/** Bytes of a text that an outline cuts; undefined: it is whole. */
export const cutSize = (text: string): number | undefined => cutTextOf(text)?.size
/** Of all copies of this module: bundles of plugins have their own. */
const OUTLINE = Symbol.for('tollgate outline')
/** Marks a parsed outline as one. */
export const markOutline = <T extends Json>(json: T): T =>
  typeof json === 'object' && json !== null ? Object.assign(json, { [OUTLINE]: true }) : json
/** Whether a body is an outline, or a copy of one with other members. */
export const isOutline = (json: Json): boolean =>
  typeof json === 'object' && json !== null && OUTLINE in json
/** Whether a value of an outline has a text that is cut, so that it must not be sent. */
export const hasCutText = (json: Json | undefined): boolean => {
  if (typeof json === 'string') return MARK.test(json)
  return (
    typeof json === 'object' && json !== null && Object.values(json).some(each => hasCutText(each))
  )
}

/** Whether a thrown value has one of these codes. */
export const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes((error as { readonly code?: string } | null)?.code ?? '')

/** Fields that a stage adds to the log line of its request, and more of them as `details`. */
export const LOG_FIELDS: Slot<Readonly<Record<string, Json>>> = { name: 'log-fields' }
export const LOG_DETAILS: Slot<Readonly<Record<string, Json>>> = { name: 'log-details' }

/** ms. */
export const DURATIONS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Bytes. */
export const SIZES = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30 }
/** Parses `1.5h` or `8MiB`; a text without a unit is the number itself. The text must be valid. */
export const amountIn = (text: string, units: Readonly<Record<string, number>>): number =>
  Math.round(Number.parseFloat(text) * (units[text.replace(/^[0-9.]+/, '')] ?? 1))

export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>
/** ms that a response asks its client to wait, by `retry-after-ms` or `retry-after` (RFC 9110
 *  §10.2.3: seconds, or a date in any of its three forms); 0 for a date that is over. Undefined:
 *  it asks for none. `now`: ms since 1970. */
export const retryAfterIn = (headers: HeaderFields, now = Date.now()): number | undefined => {
  const ms = firstOf(headers['retry-after-ms'])
  if (AMOUNT.test(ms)) return Math.ceil(Number(ms))
  const text = firstOf(headers['retry-after'])
  if (AMOUNT.test(text)) return Math.ceil(Number(text) * 1_000)
  // The form of `asctime` names no zone: it is UTC.
  const at = WEEKDAY.test(text) ? Date.parse(/ GMT$/.test(text) ? text : `${text} GMT`) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
const AMOUNT = /^\d{1,15}(?:\.\d{1,15})?$/
const WEEKDAY = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/
const firstOf = (value: HeaderFields[string]): string =>
  (typeof value === 'string' ? value : (value?.[0] ?? '')).trim()
