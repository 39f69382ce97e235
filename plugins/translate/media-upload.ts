/** Streams a file from its URL to an upstream's upload endpoint; buffers only a few chunks,
 *  whatever the size. */
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from '../../engine/errors.ts'
import type { Bytes, Exchange, Headers, Log, Outgoing, Reply } from '../../engine/plugin.ts'
import { blameIn } from '../conversion/account-error.ts'
import type { Send } from '../conversion/media-fetch.ts'
import { discardBody, ERROR_LIMIT } from '../conversion/upstream-error.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import type { TargetCodec } from '../formats/hub/codec.ts'
import type { Source } from '../formats/hub/content.ts'
import type { Upload, UploadedFile } from '../formats/media/upload.ts'
import { JSON_TYPE } from './follow-ups.ts'

const fault = errors({
  MEDIA_BROKEN: [400, "'%s': the download broke off, or its length differs from content-length."],
  UPLOAD_REFUSED: [400, "'%s': the upstream does not take this file: %s"],
  UPLOAD_FAILED: [502, 'The upstream did not take a file that this request names.'],
  UPLOAD_SLOW: [504, 'The upstream did not make a file ready within %d s.'],
})

/** s until a file must be ready, and ms between two polls of its state: doubled each time. */
const READY_TIMEOUT_S = 600
const POLL_MS = { first: 200, last: 5_000 }

export interface UploadContext {
  readonly host: Send
  readonly log: Log
  readonly upstream: string
  /** Bytes of one file. */
  readonly largest: number
  readonly exchange: Pick<Exchange, 'id' | 'signal' | 'onEnd'>
  readonly codec: Pick<TargetCodec, 'decodeError'>
}
interface File {
  readonly size: number
  readonly mime: string
  /** Path of the client's request that names it. */
  readonly path: string
}

export class MediaUpload {
  readonly #upload: Upload
  readonly #context: UploadContext
  constructor(upload: Upload, context: UploadContext) {
    this.#upload = upload
    this.#context = context
  }
  get largest(): number {
    return this.#context.largest
  }
  /** Uploads the body of `reply`. The file is deleted at the upstream when the exchange ends. */
  async put(reply: Reply, file: File): Promise<Source> {
    const { body, ...startRequest } = this.#upload.startRequest(file)
    let uploadPath: string | undefined
    try {
      const startReply = await this.#request(file, { method: 'POST', ...startRequest }, body)
      uploadPath = this.#upload.uploadPath(startReply.headers)
      await discardBody(startReply)
    } finally {
      if (uploadPath === undefined) await discardBody(reply)
    }
    if (uploadPath === undefined) throw fault('UPLOAD_FAILED')
    const uploadedFile = await this.#readState(await this.#sendFile(reply, uploadPath, file))
    this.#deleteAtEnd(uploadedFile)
    return this.#awaitReady(uploadedFile, file)
  }
  async #sendFile(reply: Reply, path: string, file: File): Promise<Reply> {
    const progress = { size: 0, isBroken: false }
    try {
      return await this.#request(file, {
        method: 'POST',
        path,
        body: checkedBody(reply, file.size, progress),
        headers: { ...this.#upload.uploadHeaders, 'content-length': String(file.size) },
      })
    } catch (error) {
      await discardBody(reply)
      if (progress.isBroken) throw fault('MEDIA_BROKEN', [file.path], { param: file.path })
      throw error
    }
  }
  async #awaitReady(first: UploadedFile, file: File): Promise<Source> {
    const { signal } = this.#context.exchange
    const deadline = performance.now() + READY_TIMEOUT_S * 1_000
    let current = first
    for (let wait = POLL_MS.first; current.state === 'waiting'; wait *= 2) {
      if (performance.now() > deadline) throw fault('UPLOAD_SLOW', [READY_TIMEOUT_S])
      await pause(Math.min(wait, POLL_MS.last), undefined, { signal })
      current = await this.#readState(
        await this.#request(file, { method: 'GET', path: first.path }),
      )
    }
    if (current.state === 'failed')
      throw fault('UPLOAD_REFUSED', [file.path, current.error ?? ''], { param: file.path })
    return { mime: file.mime, ...current.source }
  }
  async #readState(reply: Reply): Promise<UploadedFile> {
    const body = parseJson(Buffer.from(await reply.bytes(ERROR_LIMIT)).toString())
    const status = isFields(body) ? this.#upload.readStatus(body) : undefined
    if (!status) throw fault('UPLOAD_FAILED')
    return status
  }
  /** Throws a fault for the client if the upstream refuses. */
  async #request(file: File, request: Outgoing, body?: Fields): Promise<Reply> {
    const { host, upstream, exchange, codec, log } = this.#context
    const json: { headers: Headers; body: Bytes } | object = body
      ? { headers: { ...JSON_TYPE, ...request.headers }, body: Buffer.from(JSON.stringify(body)) }
      : {}
    const reply = await host.send(upstream, { ...request, signal: exchange.signal, ...json })
    const { status } = reply
    if (status < 300) return reply
    const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
    log.warn(
      { id: exchange.id, upstream, status, said: text.slice(0, 500) },
      'upstream refused a file upload',
    )
    if (status < 400 || status >= 500 || blameIn(status, text)) throw fault('UPLOAD_FAILED')
    const { message } = codec.decodeError(status, parseJson(text))
    throw fault('UPLOAD_REFUSED', [file.path, message], { param: file.path })
  }
  /** The file belongs to a customer, and the upstream would keep it for days. */
  #deleteAtEnd({ path }: UploadedFile): void {
    const { host, upstream, exchange, log } = this.#context
    exchange.onEnd(() => {
      host.send(upstream, { method: 'DELETE', path }).then(discardBody, (error: unknown) => {
        log.warn(
          { id: exchange.id, upstream, error },
          'could not delete an uploaded file at the upstream',
        )
      })
    })
  }
}

async function* checkedBody(
  { body }: Reply,
  size: number,
  progress: { size: number; isBroken: boolean },
): AsyncGenerator<Bytes> {
  try {
    for await (const chunk of body instanceof Uint8Array ? [body] : (body ?? [])) {
      progress.size += chunk.length
      if (progress.size > size) break
      yield chunk
    }
  } catch (error) {
    progress.isBroken = true
    throw error
  }
  progress.isBroken = progress.size !== size
  if (progress.isBroken) throw new Error('length differs from content-length')
}
