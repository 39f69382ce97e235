/** Keeps the bytes of files in a bucket of any service that speaks S3: small files in one request,
 *  larger ones as multipart uploads, which appear when they are complete. */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import type { Bytes } from '../../engine/plugin.ts'
import type { Blob, BlobStore, BlobWriter } from './blob-store.ts'
import { fault } from './faults.ts'
import { freeMemory } from './free-memory.ts'

export interface S3Address {
  /** URL of the bucket, without a slash at its end. */
  readonly bucket: string
  /** Begins every key; empty, or ends in a slash. */
  readonly prefix: string
  readonly region: string
}
export interface S3Credentials {
  readonly accessKey: string
  readonly secretKey: string
}

const DEFAULT_REGION = 'us-east-1'
/** Bytes of a part: S3 takes 5 MiB to 5 GiB, and 10,000 of them. An upload keeps one in memory. */
const PART_SIZE = 8 * 2 ** 20
const RETRIES = 3
/** ms before the first repetition, at most; doubled before each further one. */
const RETRY_PAUSE = 100
/** ms until the head of a response must have arrived. The request, with up to one part of a file,
 *  is sent within that time. */
const TIMEOUT = 60_000
/** ms that a multipart upload may take: S3 tells when it began, not when it was last touched. */
const MAX_UPLOAD_TIME = 24 * 3_600_000

const S3_FORM = 's3://BUCKET/PREFIX?endpoint=URL&region=R'
/** Parses `s3://BUCKET/PREFIX?endpoint=URL&region=R`. Throws an error for people.
 *  `setting`: the name of the option that has the address. */
export const parseS3Address = (text: string, setting: string): S3Address => {
  if (!URL.canParse(text)) throw new Error(`${setting} must be ${S3_FORM}`)
  const { protocol, hostname, pathname, searchParams } = new URL(text)
  const unknown = [...searchParams.keys()].find(name => name !== 'endpoint' && name !== 'region')
  if (protocol !== 's3:' || hostname === '' || unknown !== undefined)
    throw new Error(`${setting} must be ${S3_FORM}`)
  const region = searchParams.get('region') ?? DEFAULT_REGION
  const endpoint = searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint))
    throw new Error(`the endpoint of ${setting} must be an http(s) URL`)
  const prefix = pathname.replace(/^\/+|\/+$/g, '')
  return {
    bucket: `${endpoint.replace(/\/+$/, '')}/${hostname}`,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region,
  }
}

/** `query`: without the question mark. */
interface S3Request {
  readonly method: string
  readonly key?: string
  readonly query?: string
  readonly body?: Bytes
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses besides 2xx that the caller expects, such as 404. */
  readonly accept?: readonly number[]
}

export class S3Store implements BlobStore {
  readonly #address: S3Address
  readonly #client: AwsClient

  constructor(address: S3Address, { accessKey, secretKey }: S3Credentials) {
    this.#address = address
    this.#client = new AwsClient({
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region: address.region,
    })
  }
  async create(name: string): Promise<BlobWriter> {
    return new S3Writer(request => this.#send({ ...request, key: name }))
  }
  async read(name: string, start: number, end: number): Promise<AsyncIterable<Bytes>> {
    const { status } = await this.#send({ method: 'HEAD', key: name, accept: [404] })
    if (status === 404) throw fault('FILE_LOST', [name])
    return this.#readRange(name, start, end)
  }
  async remove(name: string): Promise<void> {
    await this.#send({ method: 'DELETE', key: name, accept: [404] })
  }
  async *pages(): AsyncGenerator<readonly Blob[]> {
    const prefix = encodeURIComponent(this.#address.prefix)
    for (let token: string | undefined = ''; token !== undefined; ) {
      const more = token === '' ? '' : `&continuation-token=${encodeURIComponent(token)}`
      const text = await this.#text({ method: 'GET', query: `list-type=2&prefix=${prefix}${more}` })
      yield elementsIn(text, 'Contents').map(each => ({
        name: elementIn(each, 'Key').slice(this.#address.prefix.length),
        bytes: Number(elementIn(each, 'Size')),
        modified: Date.parse(elementIn(each, 'LastModified')),
      }))
      token = elementIn(text, 'NextContinuationToken') || undefined
    }
  }
  async removeUnfinished(before: number): Promise<number> {
    const prefix = encodeURIComponent(this.#address.prefix)
    const text = await this.#text({ method: 'GET', query: `uploads=&prefix=${prefix}` })
    const abandoned = elementsIn(text, 'Upload').filter(
      each => Date.parse(elementIn(each, 'Initiated')) < before - MAX_UPLOAD_TIME,
    )
    for (const each of abandoned) {
      const key = elementIn(each, 'Key').slice(this.#address.prefix.length)
      const query = `uploadId=${encodeURIComponent(elementIn(each, 'UploadId'))}`
      await this.#send({ method: 'DELETE', key, query, accept: [404] })
    }
    return abandoned.length
  }
  /** Sends the request with the first chunk: a reply that no client reads must not hold it open. */
  async *#readRange(name: string, start: number, end: number): AsyncGenerator<Bytes> {
    if (end <= start) return
    const headers = { range: `bytes=${start}-${end - 1}` }
    const { body } = await this.#send({ method: 'GET', key: name, headers })
    if (body) yield* body
  }
  async #text(request: S3Request): Promise<string> {
    return (await this.#send(request)).text()
  }
  async #send({ method, key, query, body, headers, accept = [] }: S3Request): Promise<Response> {
    const { bucket, prefix } = this.#address
    const path = key === undefined ? '' : `/${prefix}${key}`
    const url = `${bucket}${path}${query === undefined ? '' : `?${query}`}`
    const sha256 = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const response = await this.#fetch(url, {
      method,
      headers: {
        ...headers,
        'x-amz-content-sha256': sha256,
        ...(body && { 'content-length': String(body.length) }),
      },
      body,
    })
    if (response.ok || accept.includes(response.status)) return response
    const text = await response.text().catch(() => '')
    const reason = `${response.status} ${elementIn(text, 'Code')}`.trim()
    throw fault('STORAGE_FAILED', [], { cause: `${method} of the file store: ${reason}` })
  }
  /** The timeout ends with the head: the body of a download takes as long as its client. */
  async #fetch(url: string, { body, ...init }: FetchOptions): Promise<Response> {
    const controller = new AbortController()
    const { signal } = controller
    const timer = setTimeout(() => controller.abort(), TIMEOUT)
    try {
      for (let attempt = 0; ; attempt++) {
        const stream = body && ReadableStream.from(piecesOf(body))
        const request = {
          ...init,
          signal,
          ...(stream && { body: stream, duplex: 'half' as const }),
        }
        const response = await fetch(await this.#client.sign(url, request))
        const isBusy = response.status === 429 || response.status >= 500
        if (!isBusy || attempt === RETRIES) return response
        await response.body?.cancel()
        await pause(Math.random() * RETRY_PAUSE * 2 ** attempt, undefined, { signal })
      }
    } catch (error) {
      const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error)
      throw fault('STORAGE_FAILED', [], { cause: `the file store: ${reason}` })
    } finally {
      clearTimeout(timer)
    }
  }
}

interface FetchOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Bytes | undefined
}
/** Bytes that are sent at a time. */
const PIECE_SIZE = 256 * 1024
/** For a body that is sent as a stream: of bytes, a request makes two copies, and a part of an
 *  upload took 32 MiB. */
function* piecesOf(bytes: Bytes): Generator<Bytes> {
  for (let from = 0; from < bytes.length; from += PIECE_SIZE)
    yield bytes.subarray(from, from + PIECE_SIZE)
}

type Send = (request: Omit<S3Request, 'key'>) => Promise<Response>

class S3Writer implements BlobWriter {
  readonly #send: Send
  readonly #part = Buffer.allocUnsafeSlow(PART_SIZE)
  #length = 0
  #upload: string | undefined
  readonly #tags: string[] = []
  #isDone = false

  constructor(send: Send) {
    this.#send = send
  }
  write(bytes: Bytes): Promise<void> | undefined {
    if (this.#length + bytes.length > PART_SIZE) return this.#writeFull(bytes)
    this.#part.set(bytes, this.#length)
    this.#length += bytes.length
    return undefined
  }
  async #writeFull(bytes: Bytes): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      if (this.#length === PART_SIZE) await this.#sendPart()
      const piece = bytes.subarray(from, from + PART_SIZE - this.#length)
      this.#part.set(piece, this.#length)
      this.#length += piece.length
      from += piece.length
    }
  }
  async commit(): Promise<void> {
    if (this.#upload === undefined) await this.#send({ method: 'PUT', body: this.#filled })
    else {
      await this.#sendPart()
      await this.#complete(this.#upload)
    }
    this.#isDone = true
    freeMemory(this.#part)
  }
  async abort(): Promise<void> {
    if (this.#isDone || this.#upload === undefined) return
    this.#isDone = true
    const query = `uploadId=${encodeURIComponent(this.#upload)}`
    await this.#send({ method: 'DELETE', query, accept: [404] })
  }
  get #filled(): Buffer {
    return this.#part.subarray(0, this.#length)
  }
  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#begin()
    const number = this.#tags.length + 1
    const query = `partNumber=${number}&uploadId=${encodeURIComponent(this.#upload)}`
    const { headers } = await this.#send({ method: 'PUT', query, body: this.#filled })
    this.#tags.push(headers.get('etag') ?? '')
    this.#length = 0
  }
  async #begin(): Promise<string> {
    const response = await this.#send({ method: 'POST', query: 'uploads=' })
    return elementIn(await response.text(), 'UploadId')
  }
  /** The service may report a failure inside a response with status 200. */
  async #complete(upload: string): Promise<void> {
    const parts = this.#tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
    )
    const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
    const query = `uploadId=${encodeURIComponent(upload)}`
    const response = await this.#send({ method: 'POST', query, body: Buffer.from(xml) })
    const text = await response.text()
    if (!text.includes('CompleteMultipartUploadResult'))
      throw fault('STORAGE_FAILED', [], { cause: `the file store: ${elementIn(text, 'Code')}` })
  }
}

/** The contents of all elements of this name. Elements of one name do not nest in S3's lists. */
const elementsIn = (xml: string, name: string): readonly string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, content = '']) => content,
  )
const elementIn = (xml: string, name: string): string =>
  (elementsIn(xml, name)[0] ?? '').replace(
    /&(quot|amp|lt|gt|apos);/g,
    (_, entity: string) => ENTITIES[entity] ?? '',
  )
const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  amp: '&',
  lt: '<',
  gt: '>',
  apos: "'",
}
