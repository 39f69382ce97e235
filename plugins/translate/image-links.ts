/** Stores generated images behind signed URLs, for clients that read images by URL, and finds them
 *  again if a later request names them. */
import { asBuffer } from '../../engine/kit.ts'
import type { Attempt, Host, Reply } from '../../engine/plugin.ts'
import type { StoredMedia } from '../conversion/media-fetch.ts'
import { fileStoreOf } from '../file-store/file-store.ts'
import { storeBehindUrl } from '../file-store/own-files.ts'
import { fileBehindUrl } from '../file-store/signed-url.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { ImageGeneration } from '../formats/hub/codec.ts'
import { BODY_LIMIT } from './follow-ups.ts'

export class ImageLinks {
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
  }
  /** The reply with URLs in place of base64. Images that cannot be stored stay unchanged: they are
   *  paid for. */
  async replace(
    attempt: Attempt,
    reply: Reply,
    { inlineImages, replaceImages }: ImageGeneration,
  ): Promise<Reply> {
    const bytes = await reply.bytes(BODY_LIMIT)
    const body = parseJson(asBuffer(bytes).toString())
    const { status, headers } = reply
    const images = isFields(body) ? inlineImages(body) : new Map<number, string>()
    if (!isFields(body) || images.size === 0) return attempt.answer(status, bytes, headers)
    const { 'content-length': _, ...otherHeaders } = headers
    const urls = await this.#store(attempt.exchange.id, images)
    return attempt.answer(status, replaceImages(body, urls), otherHeaders)
  }
  /** The image of an earlier answer that this URL serves. */
  async find(url: string): Promise<StoredMedia | undefined> {
    const file = await fileBehindUrl(this.#host, url, Date.now())
    if (!file) return undefined
    const readBytes = async () => {
      const chunks = await fileStoreOf(this.#host).read(file, 0, file.bytes)
      return Buffer.concat(await Array.fromAsync(chunks))
    }
    return { mime: file.type, size: file.bytes, readBytes }
  }
  /** One after another: with a bucket, each takes 8 MiB. */
  async #store(
    id: string,
    images: ReadonlyMap<number, string>,
  ): Promise<ReadonlyMap<number, string>> {
    const urls = new Map<number, string>()
    try {
      for (const [index, data] of images) {
        const file = { purpose: 'image', stem: `${id}-${index + 1}` } as const
        urls.set(index, await storeBehindUrl(this.#host, Buffer.from(data, 'base64'), file))
      }
    } catch (error) {
      this.#host.log.warn({ id, error }, 'a generated image could not be stored: sent as base64')
    }
    return urls
  }
}
