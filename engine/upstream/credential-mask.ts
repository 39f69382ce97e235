/** Hides the credentials of an upstream in what it answers: unchanged, in part, in base64 and
 *  URL-encoded. Each hidden byte becomes `*`, so that lengths stay. */
import { asBuffer } from '../kit.ts'
import type { Bytes, Filter, Headers } from '../plugin.ts'
import type { FilteredReply } from '../response/filters.ts'
import { CredentialParts } from './credential-parts.ts'

/** Shorter texts occur by chance. */
const MIN_SECRET = 8
/** Bytes of the least part that is hidden, and of the pieces by which parts are recognised: each
 *  part has a whole piece, since a piece begins at every `STEP`-th byte. */
const MIN_PART = 12
const PIECE = 8
const STEP = MIN_PART - PIECE + 1
/** Bytes of an error that are searched as one text, and of an event in a stream. */
const ERROR_BYTES = 1024 * 1024
const EVENT_BYTES = 64 * 1024
/** Bytes of a body, or a chunk of one, that is searched for every part though it reports no error:
 *  errors are that small. Events of a stream are not. */
const SMALL_BODY = 1024
const ERROR = Buffer.from('rror')
/** Names or values (`error"`, `errors"`, `error_msg"`) and events end so; not `"errors": []`. */
const ERROR_END = /^_?[a-z]{0,12}"(?!\s*:\s*(null|false|0(?=\s*[,}])|""|\[\s*]|{\s*}))|^\r?\ndata:/i
const ERROR_END_BYTES = 32
/** The end of a chunk that may be the begin of that. */
const ERROR_BEGIN = /r(?:r(?:o(?:r_?[A-Za-z]{0,12})?)?)?$/
const ERROR_BEGIN_BYTES = 20
const LINE_FEED = 10
const EVENT_ENDS = ['\n\n', '\r\n\r\n'].map(end => Buffer.from(end))
/** A character of a secret. */
const IN_SECRET = /[\w.~+/=%:-]/
const NOTHING = Buffer.alloc(0)

/** A text that stands for a secret; a part of it is recognised by a piece of it. */
interface Piece {
  readonly text: string
  readonly form: string
  /** Where the piece begins in the form. */
  readonly at: number
}

/** The forms of a secret: itself, URL-encoded, each byte encoded, in hexadecimal, and in base64 at
 *  each of three places: its first and last characters depend on what is beside the secret. */
const formsOf = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret)
  const encoded = [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const inBase64 = [0, 1, 2].flatMap(offset => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const [from, to] = [offset === 0 ? 0 : offset + 1, Math.floor((padded.length * 8) / 6)]
    return [padded.toString('base64').slice(from, to), padded.toString('base64url').slice(from, to)]
  })
  const hex = bytes.toString('hex')
  const inUrl = [encodeURIComponent(secret), encoded, encoded.toUpperCase()]
  return [...new Set([secret, ...inUrl, hex, hex.toUpperCase(), ...inBase64])]
}
/** The secret with every character escaped, as JSON permits. Two of them occur by chance: only all
 *  of them are recognised. */
const escapedPiecesOf = (secret: string): readonly Piece[] => {
  const codes = [...Buffer.from(secret)].map(byte => byte.toString(16).padStart(4, '0'))
  const lower = codes.map(code => `\\u${code}`).join('')
  const upper = codes.map(code => `\\u${code.toUpperCase()}`).join('')
  return [lower, upper].map(form => ({ text: form, form, at: 0 }))
}
/** A short form is recognised only whole. */
const piecesOf = (form: string): readonly Piece[] => {
  if (form.length < MIN_PART + STEP) return [{ text: form, form, at: 0 }]
  const starts = Array.from({ length: Math.floor((form.length - PIECE) / STEP) + 1 }, (_, i) => i)
  return starts.map(index => {
    const at = index * STEP
    return { text: form.slice(at, at + PIECE), form, at }
  })
}

/** The bounds of the longest part of the form around one of its pieces, which is at `start`. */
const partAround = (text: string, start: number, piece: Piece): readonly [number, number] => {
  const { form, at } = piece
  const shift = start - at
  let [from, to] = [start, start + piece.text.length]
  while (from > Math.max(0, shift) && text[from - 1] === form[from - 1 - shift]) from--
  while (to < Math.min(text.length, shift + form.length) && text[to] === form[to - shift]) to++
  return [from, to]
}

/** The credential in a header such as `authorization`. */
export const withoutScheme = (value: string): string => value.replace(/^\w+ +/, '')

/** Hides credentials in a reply. `isError`: its body is searched as a whole, for parts and encoded
 *  forms, too. */
export const hideCredentials = (
  reply: FilteredReply,
  mask: CredentialMask | undefined,
  isError: boolean,
): void => {
  if (!mask || mask.isEmpty) return
  mask.hideInHeaders(reply.headers, isError)
  const isStream = /^text\/event-stream/i.test(String(reply.headers['content-type'] ?? ''))
  reply.through(isError ? mask.whole() : mask.passing(isStream))
}

export class CredentialMask {
  readonly #secrets: readonly string[]
  /** The middle of each secret: a body that reports no error is searched for these only. */
  readonly #markTexts: readonly string[]
  readonly #marks: readonly Buffer[]
  readonly #parts: CredentialParts | undefined
  #allPieces: readonly Piece[] | undefined

  /** `isReused`: the mask serves many replies, so that it prepares the search for encoded forms
   *  in their headers. */
  constructor(secrets: readonly string[], { isReused = true } = {}) {
    this.#secrets = secrets.filter(({ length }) => length >= MIN_SECRET)
    this.#parts = isReused
      ? new CredentialParts(this.#secrets.flatMap(formsOf), MIN_PART)
      : undefined
    this.#markTexts = this.#secrets.map(secret => {
      const third = secret.length < 3 * MIN_PART ? 0 : Math.floor(secret.length / 3)
      return secret.slice(third, secret.length - third)
    })
    this.#marks = this.#markTexts.map(mark => Buffer.from(mark))
  }
  get isEmpty(): boolean {
    return this.#secrets.length === 0
  }
  /** The credential of one request is searched in every form in headers of errors only. */
  hideInHeaders(headers: Headers, isError: boolean): void {
    const hide = (value: string): string =>
      isError || this.#mayBeIn(value) ? this.hideInText(value) : value
    for (const name in headers) {
      const value = headers[name]
      if (typeof value === 'string') headers[name] = hide(value)
      else if (Array.isArray(value)) headers[name] = value.map(hide)
    }
  }
  #mayBeIn(value: string): boolean {
    return this.#parts?.mayBeIn(value) ?? this.#markTexts.some(mark => value.includes(mark))
  }
  /** `text`: characters up to 0xff. */
  hideInText(text: string): string {
    this.#allPieces ??= [
      ...this.#secrets.flatMap(formsOf).flatMap(piecesOf),
      ...this.#secrets.flatMap(escapedPiecesOf),
    ]
    let masked = text
    for (const piece of this.#allPieces)
      for (let at = text.indexOf(piece.text); at >= 0; ) {
        const [from, to] = partAround(text, at, piece)
        if (to - from >= Math.min(MIN_PART, piece.form.length))
          masked = masked.slice(0, from) + '*'.repeat(to - from) + masked.slice(to)
        at = text.indexOf(piece.text, to)
      }
    return masked
  }
  hideInBytes(bytes: Bytes): Bytes {
    const text = asBuffer(bytes).toString('latin1')
    const masked = this.hideInText(text)
    return masked === text ? bytes : Buffer.from(masked, 'latin1')
  }
  /** For a part of a body that may report an error, and nearly always does not. */
  hideInPassing(bytes: Bytes): Bytes {
    return this.#hasMark(bytes) || reportsError(asBuffer(bytes)) ? this.hideInBytes(bytes) : bytes
  }
  /** Whether a small body may have a part of a secret in any form. */
  #mayHavePart(bytes: Buffer): boolean {
    return bytes.length <= SMALL_BODY && (this.#parts?.mayBeIn(bytes.toString('latin1')) ?? false)
  }
  #hasMark(bytes: Bytes): boolean {
    const buffer = asBuffer(bytes)
    return this.#marks.some(mark => buffer.indexOf(mark) >= 0)
  }
  /** Bytes at the end of a chunk that may begin a secret. */
  #openTail(bytes: Buffer): number {
    // Events and JSON end otherwise: nearly no chunk is searched.
    if (!IN_SECRET.test(String.fromCharCode(bytes.at(-1) ?? 0))) return 0
    let longest = ERROR_BEGIN.exec(endOf(bytes))?.[0].length ?? 0
    for (const secret of this.#secrets) {
      const tail = bytes.subarray(-(secret.length - 1)).toString('latin1')
      const starts = Array.from(tail, (_, at) => at)
      const start = starts.find(at => secret.startsWith(tail.slice(at)))
      longest = Math.max(longest, start === undefined ? 0 : tail.length - start)
    }
    return longest
  }
  /** For a body that passes chunk by chunk. Events of a stream pass whole, unless they are large.
   *  What may begin a secret waits for the next chunk; once a body reports an error, its rest
   *  waits. */
  passing(isStream: boolean): Filter {
    let waiting: Buffer | undefined
    let isError = false
    const join = (chunk: Bytes): Buffer => {
      const bytes = waiting ? Buffer.concat([waiting, chunk]) : asBuffer(chunk)
      waiting = undefined
      return bytes
    }
    const hide = (bytes: Bytes): Bytes =>
      isError ? this.hideInBytes(bytes) : this.hideInPassing(bytes)
    const hideRest = (bytes: Buffer): Bytes =>
      !isStream && this.#mayHavePart(bytes) ? this.hideInBytes(bytes) : hide(bytes)
    /** Returns the bytes that need not wait. */
    const takePart = (bytes: Buffer): Bytes => {
      isError ||= reportsError(bytes)
      const open = isError && bytes.length <= ERROR_BYTES ? bytes.length : this.#openTail(bytes)
      if (open > 0) waiting = bytes.subarray(bytes.length - open)
      const closed = open > 0 ? bytes.subarray(0, -open) : bytes
      const isSuspect = isError || this.#hasMark(closed) || (!isStream && this.#mayHavePart(closed))
      return isSuspect ? this.hideInBytes(closed) : closed
    }
    const takeEvents = (bytes: Buffer, end: number): Bytes => {
      if (end < bytes.length) waiting = bytes.subarray(end)
      const events = end < bytes.length ? bytes.subarray(0, end) : bytes
      const hidden = hide(events)
      if (end > 0) isError = false
      return hidden
    }
    return {
      write: (chunk, out) => {
        const bytes = join(chunk)
        const end = isStream ? lastEventEnd(bytes) : 0
        const areWhole = end > 0 || (isStream && bytes.length <= EVENT_BYTES)
        const passed = areWhole ? takeEvents(bytes, end) : takePart(bytes)
        if (passed.length > 0) out.write(passed)
      },
      end: (tail, out) => {
        const rest = waiting || tail ? join(tail ?? NOTHING) : undefined
        out.end(rest && hideRest(rest))
      },
      fail: (reason, out) => {
        if (waiting) out.write(hideRest(waiting))
        out.fail(reason)
      },
    }
  }
  /** For an error: its text is searched as a whole, up to `ERROR_BYTES`. */
  whole(): Filter {
    let parts: Bytes[] = []
    let size = 0
    const take = (): Bytes => {
      const bytes = this.hideInBytes(Buffer.concat(parts))
      parts = []
      return bytes
    }
    return {
      write(chunk, out) {
        parts.push(chunk)
        size += chunk.length
        if (size > ERROR_BYTES) out.write(take())
      },
      end(tail, out) {
        if (tail) parts.push(tail)
        out.end(parts.length > 0 ? take() : undefined)
      },
      fail(reason, out) {
        if (parts.length > 0) out.write(take())
        out.fail(reason)
      },
    }
  }
}

/** The first byte behind the last whole event: nearly every chunk ends with one. */
const lastEventEnd = (bytes: Buffer): number => {
  if (bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED) return bytes.length
  const ends = EVENT_ENDS.map(end => {
    const at = bytes.lastIndexOf(end)
    return at < 0 ? 0 : at + end.length
  })
  return Math.max(...ends)
}

const endOf = (bytes: Buffer): string =>
  bytes.toString('latin1', Math.max(0, bytes.length - ERROR_BEGIN_BYTES))

/** Whether JSON has a member or a value, or a stream an event, such as `error`. */
const reportsError = (buffer: Buffer): boolean => {
  for (let at = buffer.indexOf(ERROR); at >= 0; at = buffer.indexOf(ERROR, at + ERROR.length)) {
    const end = at + ERROR.length
    // In prose a space follows.
    if (buffer[end] !== 32 && ERROR_END.test(buffer.toString('latin1', end, end + ERROR_END_BYTES)))
      return true
  }
  return false
}
