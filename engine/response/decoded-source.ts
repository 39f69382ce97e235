/** Decodes bodies that an upstream has compressed although no request asks for that. */
import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { errors } from '../errors.ts'
import type { Bytes, Fault, Out } from '../plugin.ts'
import { FilteredReply } from './filters.ts'
import { fromIterable, type Source } from './source.ts'

const fault = errors({
  CODING_UNKNOWN: [
    502,
    'The upstream %s sent its answer in a coding that was not asked for: %s.',
    { retryable: true },
  ],
  CODING_CORRUPT: [502, 'The answer of the upstream %s is not valid %s.'],
  CODING_BOMB: [
    502,
    'The compressed answer of the upstream %s becomes more than %d times as large.',
  ],
})

const gunzip = (): Transform => zlib.createGunzip()
/** By coding; `first`: the first byte of the body. */
const DECODERS: Readonly<Record<string, (first: number) => Transform>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  // Some servers leave the frame of zlib out, which begins with the method 8.
  deflate: first => (first % 16 === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
}
/** Largest growth, counted once a body is larger than `FREE_BYTES`. Texts reach 50. */
const MAX_GROWTH = 250
const FREE_BYTES = 16 * 1024 * 1024
const MAX_CODINGS = 4

/** The same reply with a decoded body; parts of a body pass unchanged. `upstream`: its name. */
export const decodeReply = (reply: FilteredReply, upstream: string): FilteredReply => {
  const { status, headers, body } = reply
  const real = codingsOf(reply)
  if (!real) return reply
  let source = reply.source ?? (isIterable(body) ? fromIterable(body) : undefined)
  if (!source) return reply
  // The coding that was applied last is removed first.
  for (const coding of real.slice(-MAX_CODINGS).reverse())
    source = new DecodedSource(source, real.length > MAX_CODINGS ? 'too many' : coding, upstream)
  for (const name of ABOUT_CODED_BYTES) delete headers[name]
  const { etag } = headers
  if (typeof etag === 'string' && !etag.startsWith('W/')) headers.etag = `W/${etag}`
  return new FilteredReply(status, headers, undefined, source)
}
/** The fault of a successful reply whose body nobody can decode, known at its head. */
export const codingFault = (reply: FilteredReply, upstream: string): Fault | undefined => {
  if (reply.status >= 400 || reply.headers['content-length'] === '0') return undefined
  const unknown = codingsOf(reply)?.find(each => !Object.hasOwn(DECODERS, each))
  if (unknown === undefined || !(reply.source ?? isIterable(reply.body))) return undefined
  return unknownCoding(upstream, unknown)
}
const unknownCoding = (upstream: string, coding: string): Fault =>
  fault('CODING_UNKNOWN', [upstream, coding.slice(0, 40)])
/** In the order in which they were applied. Undefined: the body passes unchanged. */
const codingsOf = ({ status, headers }: FilteredReply): readonly string[] | undefined => {
  const header = headers['content-encoding']
  if (header === undefined || status === 206) return undefined
  return String(header)
    .toLowerCase()
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '' && each !== 'identity')
}
const ABOUT_CODED_BYTES = [
  'content-encoding',
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'accept-ranges',
]

/** One coding of a body. The bytes of the source are decoded before its end or its failure is
 *  passed on; nothing waits for further input. */
class DecodedSource implements Source {
  readonly #source: Source
  readonly #coding: string
  readonly #upstream: string
  #out: Out | undefined
  #decoder: Transform | undefined
  #codedBytes = 0
  #bytes = 0
  /** How the source ended. */
  #end: { readonly fault?: Fault } | undefined
  /** The last decoded bytes after the end of the source: the tail. */
  #tail: Bytes | undefined
  #isOver = false

  constructor(source: Source, coding: string, upstream: string) {
    this.#source = source
    this.#coding = coding
    this.#upstream = upstream
  }
  start(out: Out): void {
    this.#out = out
    this.#source.start({
      write: chunk => this.#write(chunk),
      end: tail => {
        if (tail) this.#write(tail)
        this.#finish({})
      },
      fail: fault => this.#finish({ fault }),
    })
  }
  pause(): void {
    if (this.#decoder) this.#decoder.pause()
    else this.#source.pause()
  }
  resume(): void {
    this.#decoder?.resume()
    if (this.#decoder?.writableNeedDrain !== true) this.#source.resume()
  }
  abort(reason: Fault): void {
    if (this.#isOver) return
    if (this.#out) this.#fail(reason)
    else this.#source.abort(reason)
  }
  #write(chunk: Bytes): void {
    if (this.#isOver || chunk.length === 0) return
    this.#codedBytes += chunk.length
    this.#decoder ??= this.#open(chunk[0] ?? 0)
    if (this.#decoder?.write(chunk) !== false) return
    this.#source.pause()
    this.#decoder.once('drain', () => this.#source.resume())
  }
  #open(first: number): Transform | undefined {
    const create = Object.hasOwn(DECODERS, this.#coding) ? DECODERS[this.#coding] : undefined
    if (!create) {
      this.#fail(unknownCoding(this.#upstream, this.#coding))
      return undefined
    }
    return create(first)
      .on('data', (chunk: Bytes) => this.#pass(chunk))
      .on('end', () => this.#onDecoded())
      .on('error', cause => {
        if (this.#end?.fault) return this.#close()
        this.#fail(fault('CODING_CORRUPT', [this.#upstream, this.#coding], { cause }))
      })
  }
  /** The coded form may end before the source does: what follows is not part of the body. */
  #onDecoded(): void {
    const isEarly = !this.#end
    this.#close()
    if (isEarly) this.#source.abort(fault('CODING_CORRUPT', [this.#upstream, this.#coding]))
  }
  #pass(chunk: Bytes): void {
    if (this.#isOver) return
    this.#bytes += chunk.length
    if (this.#bytes > FREE_BYTES && this.#bytes > this.#codedBytes * MAX_GROWTH)
      return this.#fail(fault('CODING_BOMB', [this.#upstream, MAX_GROWTH]))
    if (!this.#end) return this.#out?.write(chunk)
    if (this.#tail) this.#out?.write(this.#tail)
    this.#tail = chunk
  }
  #finish(end: { readonly fault?: Fault }): void {
    if (this.#isOver) return
    this.#end = end
    if (this.#decoder) this.#decoder.end()
    else this.#close()
  }
  #close(): void {
    if (this.#isOver) return
    const { fault: reason } = this.#end ?? {}
    this.#isOver = true
    if (!reason) return this.#out?.end(this.#tail)
    if (this.#tail) this.#out?.write(this.#tail)
    this.#out?.fail(reason)
  }
  #fail(reason: Fault): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#decoder?.destroy()
    this.#source.abort(reason)
    this.#out?.fail(reason)
  }
}
const isIterable = (body: unknown): body is AsyncIterable<Bytes> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body
