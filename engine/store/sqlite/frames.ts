/** Frames on the writer's socket (four bytes of length, then JSON) and the types of the messages.
 *  */
import type { Migration } from '../../plugin.ts'
import type { EncodedStatement, Wire } from '../values.ts'

/** A SQL text with its number on this connection, and how its statements may be merged: see `Sql`.
 *  */
export type WireText = readonly [
  number: number,
  text: string,
  sums?: readonly number[] | null | undefined,
  joins?: true | null | undefined,
]
/** Number of the SQL text, expected rows (see `encodeRows`), values. With the complement of the
 *  number: positions and values that differ from the statement before with the same text. */
export type WireStatement = readonly [text: number, ...rowsAndValues: Wire[]]
type WireList = readonly [number: number, marks: number, ...statements: WireStatement[]]
/** Marks of a list. AGAIN: it was sent before, and perhaps applied. ONCE: a unique key admits its
 *  first statement only once. */
export const AGAIN = 1
export const ONCE = 2

/** Client to writer. `hello` comes first; `bye` clears the on-crash statements (`wills`). */
export interface ClientMessage {
  readonly hello?: string
  readonly texts?: readonly WireText[]
  readonly lists?: readonly WireList[]
  readonly wills?: readonly (readonly [name: string, ...statements: EncodedStatement[]])[]
  /** No list below the first number will be repeated, except those that follow. */
  readonly forget?: readonly number[]
  readonly migrations?: readonly (readonly [
    number: number,
    owner: string,
    all: readonly Migration[],
  ])[]
  readonly bye?: true
}
type WireRows = readonly (readonly Readonly<Record<string, Wire>>[])[]
/** Why a list was not applied. `at`: index of the statement. `names`: the violated constraint and
 *  its columns. */
export interface Refusal {
  readonly kind: 'rows' | 'violation' | 'statement' | 'migration' | 'unavailable' | 'unknown'
  readonly at: number
  readonly affectedRows?: number
  readonly names?: readonly string[]
  /** The violated constraint is a unique key: the row exists. */
  readonly unique?: true
  readonly message?: string
}
/** Number of a list, its rows (`null`: no statement has any), and why it was refused. */
export type WireResult = readonly [number: number, rows?: WireRows | null, refusal?: Refusal]
/** Writer to client. */
export interface WriterMessage {
  readonly welcome?: true
  /** With `welcome`: statements may be sent as changes. A writer of an earlier version cannot read
   *  them. */
  readonly changes?: true
  /** Numbers of lists that were applied and returned no rows. */
  readonly done?: readonly number[]
  readonly answers?: readonly WireResult[]
}

export const encodeMessage = (message: ClientMessage | WriterMessage): Buffer =>
  encodeFrame(JSON.stringify(message))
export const encodeFrame = (text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(4 + length)
  bytes.writeUInt32LE(length)
  bytes.write(text, 4)
  return bytes
}

/** Returns a parser that takes chunks of any size and calls `take` for each message. */
export const createFrameParser = <Message>(onMessage: (message: Message) => void) => {
  let parts: Buffer[] = []
  let size = 0
  return (chunk: Buffer): void => {
    parts.push(chunk)
    size += chunk.length
    const first = parts[0]
    // The length itself may be split. The chunks of a body are joined once, when it is complete.
    if (size < 4 || (first && first.length >= 4 && size < 4 + first.readUInt32LE())) return
    const bytes = parts.length === 1 ? chunk : Buffer.concat(parts, size)
    let at = 0
    while (bytes.length - at >= 4) {
      const end = at + 4 + bytes.readUInt32LE(at)
      if (end > bytes.length) break
      onMessage(JSON.parse(bytes.toString('utf8', at + 4, end)))
      at = end
    }
    size = bytes.length - at
    parts = size > 0 ? [bytes.subarray(at)] : []
  }
}
