/** Writes and reads `multipart/form-data` (RFC 7578): a whole form, or one that arrives in chunks.
 *  Reading copies no content. */
import { randomUUID } from 'node:crypto'
import { MIMEType } from 'node:util'
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'

export interface FormFile {
  readonly name: string
  readonly file: string
  readonly type: string
  readonly bytes: Bytes
}

/** `fields`: names from the code, values from the client. No value can contain the boundary,
 *  because it is random and made after the value. */
export const writeForm = (
  fields: readonly (readonly [name: string, value: string])[],
  files: readonly FormFile[],
): { readonly type: string; readonly body: Bytes } => {
  const boundary = `tollgate-${randomUUID()}`
  const head = (disposition: string, headers = ''): Bytes =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}${headers}\r\n\r\n`)
  const end = Buffer.from('\r\n')
  const parts: Bytes[] = []
  for (const [name, value] of fields) parts.push(head(`name="${name}"`), Buffer.from(value), end)
  for (const { name, file, type, bytes } of files)
    parts.push(head(`name="${name}"; filename="${file}"`, `\r\ncontent-type: ${type}`), bytes, end)
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) }
}

// ---------------------------------------------------------------- reading

interface PartHead {
  readonly name: string
  /** Whether the part is a file, with or without a file name. */
  readonly file: boolean
  /** As the client sent it, which may be a path. */
  readonly filename: string | undefined
  readonly type: string | undefined
}
/** A part and the offsets of its content in the body. */
export interface FormPart extends PartHead {
  readonly start: number
  readonly end: number
}

/** The boundary of a form; undefined if the content type is another or the boundary is invalid (RFC
 *  2046 §5.1.1). */
export const boundaryOf = (type: string | undefined): string | undefined => {
  if (type === undefined || !/^\s*multipart\/form-data/i.test(type)) return undefined
  try {
    const { essence, params } = new MIMEType(type)
    const boundary = params.get('boundary') ?? ''
    return essence === 'multipart/form-data' && /^[\x21-\x7e]{1,70}$/.test(boundary)
      ? boundary
      : undefined
  } catch {
    return undefined
  }
}

/** Undefined if the body is truncated or malformed: two parsers might read an ambiguous form
 *  differently. */
export const partsIn = (bytes: Bytes, boundary: string): readonly FormPart[] | undefined => {
  const reader = new FormReader(boundary)
  const parts: FormPart[] = []
  let open: (PartHead & { readonly start: number }) | undefined
  for (const event of reader.read(bytes)) {
    if (event.kind === 'part') open = { ...event.head, start: event.start }
    else if (event.kind === 'end' && open) parts.push({ ...open, end: event.end })
  }
  return reader.state === 'complete' ? parts : undefined
}

export type FormEvent =
  | { readonly kind: 'part'; readonly head: PartHead; readonly start: number }
  | { readonly kind: 'content'; readonly bytes: Bytes }
  | { readonly kind: 'end'; readonly end: number }

const MAX_PARTS = 64
const MAX_HEAD = 4_096
const CRLF = '\r\n'
const CR = 13
const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

/** Reads a form in chunks of any size and copies at most a head and a delimiter of it. Offsets
 *  count from the start of the body; content refers to the chunk, which the reader does not keep.
 *
 *  start ──"--boundary"──▶ delimiter ──CRLF──▶ head ──empty line──▶ content ──▶ delimiter
 *  delimiter ──"--"──▶ complete
 *  start, delimiter, head, content ──anything else──▶ invalid */
export class FormReader {
  #state: 'start' | 'delimiter' | 'head' | 'content' | 'complete' | 'invalid' = 'start'
  readonly #delimiter: Buffer
  /** Bytes that no step could decide on. */
  #rest: Buffer = NOTHING
  /** Offset of the first byte of `#rest`. */
  #offset = 0
  /** Bytes before the content that a delimiter may share with the end of the head. */
  #shared = 0
  #parts = 0

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`${CRLF}--${boundary}`)
  }
  /** At the end of a body every other state than `complete` means that it is truncated. */
  get state(): 'open' | 'complete' | 'invalid' {
    return this.#state === 'complete' || this.#state === 'invalid' ? this.#state : 'open'
  }
  /** Ignores what follows the last delimiter. */
  read(chunk: Bytes): readonly FormEvent[] {
    if (this.state !== 'open') return []
    const bytes = asBuffer(chunk)
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const events: FormEvent[] = []
    while (this.#step(events)) {}
    this.#rest = this.state === 'open' ? Buffer.from(this.#rest) : NOTHING
    return events
  }
  /** Returns false if it needs more bytes, or none. */
  #step(events: FormEvent[]): boolean {
    switch (this.#state) {
      case 'start':
        return this.#readStart()
      case 'delimiter':
        return this.#readDelimiterEnd()
      case 'head':
        return this.#readHead(events)
      case 'content':
        return this.#readContent(events)
      default:
        return false
    }
  }
  #readStart(): boolean {
    const expected = this.#delimiter.subarray(CRLF.length)
    const length = Math.min(expected.length, this.#rest.length)
    if (!this.#rest.subarray(0, length).equals(expected.subarray(0, length))) return this.#refuse()
    if (length < expected.length) return false
    this.#take(length)
    this.#state = 'delimiter'
    return true
  }
  #readDelimiterEnd(): boolean {
    if (this.#rest.length < CRLF.length) return false
    const next = this.#rest.toString('latin1', 0, CRLF.length)
    if (next !== CRLF && next !== '--') return this.#refuse()
    this.#state = next === CRLF ? 'head' : 'complete'
    return this.#state === 'head'
  }
  /** The head begins with the line end of the delimiter, which may also be its own end. */
  #readHead(events: FormEvent[]): boolean {
    const end = this.#rest.subarray(0, MAX_HEAD).indexOf(HEAD_END)
    if (end < 0) return this.#rest.length < MAX_HEAD ? false : this.#refuse()
    const head = parseHead(this.#rest.toString('utf8', CRLF.length, end))
    if (!head || ++this.#parts > MAX_PARTS) return this.#refuse()
    // The search begins before the content, so that the end of a part without content is found.
    this.#take(end + HEAD_END.length - CRLF.length)
    this.#shared = CRLF.length
    events.push({ kind: 'part', head, start: this.#offset + this.#shared })
    this.#state = 'content'
    return true
  }
  #readContent(events: FormEvent[]): boolean {
    const end = this.#rest.indexOf(this.#delimiter)
    if (end < 0) {
      this.#emit(events, this.#undecidedFrom())
      return false
    }
    this.#emit(events, end)
    events.push({ kind: 'end', end: this.#offset + this.#shared })
    this.#take(this.#delimiter.length)
    this.#shared = 0
    this.#state = 'delimiter'
    return true
  }
  /** The first byte that may begin a delimiter of which the rest is still to come. */
  #undecidedFrom(): number {
    const { length } = this.#rest
    let from = this.#rest.indexOf(CR, Math.max(0, length - this.#delimiter.length + 1))
    while (
      from >= 0 &&
      !this.#rest.subarray(from).equals(this.#delimiter.subarray(0, length - from))
    )
      from = this.#rest.indexOf(CR, from + 1)
    return from < 0 ? length : from
  }
  #emit(events: FormEvent[], length: number): void {
    const from = Math.min(this.#shared, length)
    if (length > from) events.push({ kind: 'content', bytes: this.#rest.subarray(from, length) })
    this.#shared -= from
    this.#take(length)
  }
  #take(length: number): void {
    this.#rest = this.#rest.subarray(length)
    this.#offset += length
  }
  #refuse(): false {
    this.#state = 'invalid'
    return false
  }
}

const IDENTITY_ENCODING = /^(?:binary|8bit|7bit)$/i
const parseHead = (text: string): PartHead | undefined => {
  const headers = new Map<string, string>()
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    // Rejects repeated and folded headers as ambiguous.
    if (!/^[\w-]+$/.test(name) || headers.has(name)) return undefined
    headers.set(name, line.slice(colon + 1).trim())
  }
  if (!IDENTITY_ENCODING.test(headers.get('content-transfer-encoding') ?? 'binary'))
    return undefined
  const disposition = headers.get('content-disposition') ?? ''
  const names = [...disposition.matchAll(/;\s*name\s*=\s*(?:"([^"\\]*)"|([\w.[\]-]+))/gi)]
  const name = names[0]?.[1] ?? names[0]?.[2]
  if (!/^form-data\s*;/i.test(disposition) || names.length !== 1 || !name) return undefined
  if (/;\s*name\s*\*/i.test(disposition)) return undefined
  const file = /;\s*filename\s*\*?\s*=/i.test(disposition)
  return { name, file, filename: filenameIn(disposition), type: headers.get('content-type') }
}

/** RFC 6266 prefers the extended form; browsers escape quotes and line ends by percent. */
const filenameIn = (disposition: string): string | undefined => {
  const [, encoded] = /;\s*filename\*\s*=\s*utf-8'[\w-]*'([^\s;]+)/i.exec(disposition) ?? []
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded)
    } catch {
      return undefined
    }
  }
  const plain = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/i.exec(disposition)
  return (plain?.[1]?.replace(/\\(["\\])/g, '$1') ?? plain?.[2])?.replace(
    /%(?:22|0D|0A)/gi,
    decodeURIComponent,
  )
}
