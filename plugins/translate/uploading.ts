/** A file on its way from an address to an upstream, in one stream: of no size is more kept than a few chunks. */
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from '../../engine/errors.ts'
import type { Bytes, Exchange, Headers, Log, Outgoing, Reply } from '../../engine/plugin.ts'
import type { Send } from '../conversion/fetching.ts'
import { abandon, ERROR_LIMIT, isKeyStatus } from '../conversion/refusal.ts'
import type { TargetCodec } from '../formats/codec.ts'
import type { Source } from '../formats/content.ts'
import { type Fields, isFields, parsed } from '../formats/fields.ts'
import type { Upload, Uploaded } from '../formats/upload.ts'
import { JSON_TYPE } from './several.ts'

const fault = errors({
  MEDIA_BROKEN: [400, "'%s': what the address serves broke off, or is not as long as it says."],
  UPLOAD_REFUSED: [400, "'%s': the upstream does not take this file: %s"],
  UPLOAD_FAILED: [502, 'The upstream did not take a file that this request names.'],
  UPLOAD_SLOW: [504, 'The upstream did not make a file ready within %d s.'],
})

/** s until a file must be ready, and ms between two questions whether it is: longer each time. */
const PATIENCE = 600
const QUESTIONS = { first: 200, last: 5_000 }

export interface UploadGround {
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
  /** Where in the client's request it is named. */
  readonly at: string
}

export class Uploading {
  readonly #upload: Upload
  readonly #ground: UploadGround
  constructor(upload: Upload, ground: UploadGround) {
    this.#upload = upload
    this.#ground = ground
  }
  get largest(): number {
    return this.#ground.largest
  }
  /** `reply`: what serves it. The file is deleted when the exchange is over. */
  async put(reply: Reply, file: File): Promise<Source> {
    const { body, ...asking } = this.#upload.begin(file)
    let place: string | undefined
    try {
      const begun = await this.#ask(file, { method: 'POST', ...asking }, body)
      place = this.#upload.place(begun.headers)
      await abandon(begun)
    } finally {
      if (place === undefined) await abandon(reply)
    }
    if (place === undefined) throw fault('UPLOAD_FAILED')
    const sent = await this.#read(await this.#pass(reply, place, file))
    this.#forgetAtEnd(sent)
    return this.#ready(sent, file)
  }
  async #pass(reply: Reply, path: string, file: File): Promise<Reply> {
    const seen = { size: 0, broken: false }
    try {
      return await this.#ask(file, {
        ...{ method: 'POST', path, body: carried(reply, file.size, seen) },
        headers: { ...this.#upload.sending, 'content-length': String(file.size) },
      })
    } catch (thrown) {
      await abandon(reply)
      if (seen.broken) throw fault('MEDIA_BROKEN', [file.at], { param: file.at })
      throw thrown
    }
  }
  async #ready(first: Uploaded, file: File): Promise<Source> {
    const { signal } = this.#ground.exchange
    const until = performance.now() + PATIENCE * 1_000
    let now = first
    for (let wait = QUESTIONS.first; now.state === 'waiting'; wait *= 2) {
      if (performance.now() > until) throw fault('UPLOAD_SLOW', [PATIENCE])
      await pause(Math.min(wait, QUESTIONS.last), undefined, { signal })
      now = await this.#read(await this.#ask(file, { method: 'GET', path: first.path }))
    }
    if (now.state === 'failed')
      throw fault('UPLOAD_REFUSED', [file.at, now.error ?? ''], { param: file.at })
    return { mime: file.mime, ...now.source }
  }
  async #read(reply: Reply): Promise<Uploaded> {
    const body = parsed(Buffer.from(await reply.bytes(ERROR_LIMIT)).toString())
    const uploaded = isFields(body) ? this.#upload.read(body) : undefined
    if (!uploaded) throw fault('UPLOAD_FAILED')
    return uploaded
  }
  /** Throws what the client has to know of a refusal. */
  async #ask(file: File, request: Outgoing, body?: Fields): Promise<Reply> {
    const { host, upstream, exchange, codec, log } = this.#ground
    const json: { headers: Headers; body: Bytes } | object = body
      ? { headers: { ...JSON_TYPE, ...request.headers }, body: Buffer.from(JSON.stringify(body)) }
      : {}
    const reply = await host.send(upstream, { ...request, signal: exchange.signal, ...json })
    const { status } = reply
    if (status < 300) return reply
    const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
    log.warn({ id: exchange.id, upstream, status, said: text.slice(0, 500) }, 'no upload')
    if (status < 400 || status >= 500 || isKeyStatus(status)) throw fault('UPLOAD_FAILED')
    const { message } = codec.decodeError(status, parsed(text))
    throw fault('UPLOAD_REFUSED', [file.at, message], { param: file.at })
  }
  /** It is its customer's, and would stay for days. */
  #forgetAtEnd({ path }: Uploaded): void {
    const { host, upstream, exchange, log } = this.#ground
    exchange.onEnd(() => {
      host.send(upstream, { method: 'DELETE', path }).then(abandon, (error: unknown) => {
        log.warn({ id: exchange.id, upstream, error }, 'an uploaded file was not deleted')
      })
    })
  }
}

async function* carried(
  { body }: Reply,
  size: number,
  seen: { size: number; broken: boolean },
): AsyncGenerator<Bytes> {
  try {
    for await (const chunk of body instanceof Uint8Array ? [body] : (body ?? [])) {
      seen.size += chunk.length
      if (seen.size > size) break
      yield chunk
    }
  } catch (thrown) {
    seen.broken = true
    throw thrown
  }
  seen.broken = seen.size !== size
  if (seen.broken) throw new Error('not as long as it says')
}
