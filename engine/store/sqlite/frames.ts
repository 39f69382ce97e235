/** Frames on the writer's socket: four bytes of length, then JSON. Also the shapes of what is said. */
import type { Migration } from '../../plugin.ts'
import type { Spelled, Wire } from '../values.ts'

/** Number of the text on this connection, rows expected (-1 any, -2 some), values. */
export type WireStatement = readonly [text: number, rows: number, ...values: Wire[]]
type WireList = readonly [number: number, marks: number, ...statements: WireStatement[]]
/** Marks of a list: it was sent before, perhaps applied before; its first statement comes through once only. */
export const AGAIN = 1
export const ONCE = 2

/** Client to writer. `hello` comes first; `bye` says that no will is to be applied. */
export interface Said {
  readonly hello?: string
  readonly texts?: readonly (readonly [number: number, text: string, sums?: readonly number[]])[]
  readonly lists?: readonly WireList[]
  readonly wills?: readonly (readonly [name: string, ...statements: Spelled[]])[]
  /** No list below the first number will be sent again, save those that follow. */
  readonly forget?: readonly number[]
  readonly migrations?: readonly (readonly [
    number: number,
    owner: string,
    all: readonly Migration[],
  ])[]
  readonly bye?: true
}
type WireRows = readonly (readonly Readonly<Record<string, Wire>>[])[]
/** Why a list was not applied. `names`: the constraint and columns at fault. */
export interface Refused {
  readonly kind: 'rows' | 'violation' | 'statement' | 'migration' | 'unavailable' | 'unknown'
  readonly at: number
  readonly found?: number
  readonly names?: readonly string[]
  /** It was a unique key that said no: such a row is there. */
  readonly unique?: true
  readonly message?: string
}
/** A list's number, then its rows (`null`: none anywhere), then why it was refused. */
export type WireAnswer = readonly [number: number, rows?: WireRows | null, refused?: Refused]
/** Writer to client. */
export interface Heard {
  readonly welcome?: true
  /** Numbers of lists that were applied and gave no rows. */
  readonly done?: readonly number[]
  readonly answers?: readonly WireAnswer[]
}

export const frame = (message: Said | Heard): Buffer => frameOf(JSON.stringify(message))
export const frameOf = (text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(4 + length)
  bytes.writeUInt32LE(length)
  bytes.write(text, 4)
  return bytes
}

/** Cuts chunks into messages, whatever the borders. */
export const createFrames = <Message>(take: (message: Message) => void) => {
  let parts: Buffer[] = []
  let size = 0
  return (chunk: Buffer): void => {
    parts.push(chunk)
    size += chunk.length
    const first = parts[0]
    // The length may itself be cut in two; a body is joined once, when all of it is there.
    if (size < 4 || (first && first.length >= 4 && size < 4 + first.readUInt32LE())) return
    const bytes = parts.length === 1 ? chunk : Buffer.concat(parts, size)
    let at = 0
    while (bytes.length - at >= 4) {
      const end = at + 4 + bytes.readUInt32LE(at)
      if (end > bytes.length) break
      take(JSON.parse(bytes.toString('utf8', at + 4, end)))
      at = end
    }
    size = bytes.length - at
    parts = size > 0 ? [bytes.subarray(at)] : []
  }
}
