/** Fetches media that a client names by URL for targets that accept no URLs, from public addresses
 *  only, and sends it inside the request. The response's content type, or its first bytes if it has
 *  none, override the kind that the client declared. */
import { errors } from '../../engine/errors.ts'
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes, Host, Json, Reply } from '../../engine/plugin.ts'
import type { Content, Media, Result, Source, Text } from '../formats/hub/content.ts'
import type { Prompt, Turn } from '../formats/hub/prompt.ts'
import { kindOfMime } from '../formats/media/media.ts'
import { DECISIVE_BYTES, mediaTypeOf } from '../formats/media/media-type.ts'
import { discardBody } from './upstream-error.ts'

const fault = errors({
  MEDIA_UNREACHABLE: [400, "'%s': could not fetch %s: %s"],
  MEDIA_TOO_LARGE: [400, "'%s': the media of a request is limited to %d bytes in total."],
})

/** Deadline for one URL, ms: for inline media, and for media that is uploaded. */
const TIMEOUT_MS = { inline: 30_000, uploaded: 900_000 }
/** Bytes of all inline media of one request: upstreams accept 20 MB, and base64 adds a third. */
const INLINE_LIMIT = 14 * 1024 * 1024

export const MEDIA_KINDS = ['image', 'document', 'audio', 'video'] as const
export type Send = Pick<Host, 'send'>
export interface MediaHost extends Send {
  /** The file of the gateway's own store that this URL serves. */
  findStored?(url: string): Promise<StoredMedia | undefined>
}
export interface StoredMedia {
  readonly mime: string
  readonly size: number
  readBytes(): Promise<Bytes>
}
/** Uploads media that does not fit into a request. */
interface MediaUploader {
  /** Largest file, bytes. */
  readonly largest: number
  /** Uploads the body of `reply`. */
  put(
    reply: Reply,
    file: { readonly size: number; readonly mime: string; readonly path: string },
  ): Promise<Source>
}

/** The media that a target does not fetch itself. `opensUrl`: URLs that it opens all the same. */
export interface FetchedMedia {
  readonly kinds: readonly string[]
  opensUrl?(url: string): boolean
}
/** Whether a prompt names such media by URL, also in results of tools. */
export const namesMedia = ({ turns }: Prompt, fetched: FetchedMedia): boolean =>
  turns.some(({ content }) => content.some(each => holdsFetched(each, fetched)))
const holdsFetched = (content: Content, fetched: FetchedMedia): boolean =>
  partsIn(content).some(each => holdsFetched(each, fetched)) || needsFetch(content, fetched)
const partsIn = (content: Content): readonly Content[] =>
  content.type === 'result' ? content.content : (content.type === 'media' && content.parts) || []

/** Replaces URLs of such media by their data. */
export const fetchMedia = async (
  prompt: Prompt,
  fetched: FetchedMedia,
  host: MediaHost,
  signal: AbortSignal,
  uploader?: MediaUploader,
): Promise<Prompt> => {
  const fetcher = new MediaFetcher(fetched, host, signal, uploader)
  const turns: Turn[] = []
  for (const turn of prompt.turns)
    turns.push({ ...turn, content: await fetcher.fetchAll(turn.content) })
  return { ...prompt, turns }
}

/** An image URL may serve a video, which the target accepts inline only. */
const needsFetch = (content: Content, { kinds, opensUrl }: FetchedMedia): content is Media =>
  content.type === 'media' &&
  content.source.type === 'url' &&
  kinds.includes(content.kind) &&
  !opensUrl?.(content.source.url)

/** Fetches the media of one request within its size limit. */
export class MediaFetcher {
  readonly #fetched: FetchedMedia
  readonly #host: MediaHost
  readonly #signal: AbortSignal
  readonly #uploader: MediaUploader | undefined
  #remaining = INLINE_LIMIT

  constructor(
    fetched: FetchedMedia,
    host: MediaHost,
    signal: AbortSignal,
    uploader?: MediaUploader | undefined,
  ) {
    this.#uploader = uploader
    this.#fetched = fetched
    this.#host = host
    this.#signal = signal
  }
  /** Fetches one after the other, since all share one size limit. */
  async fetchAll(content: readonly Content[]): Promise<readonly Content[]> {
    const contents: Content[] = []
    for (const each of content)
      if (each.type === 'result')
        contents.push({ ...each, content: await this.#fetchParts(each.content) })
      else contents.push(await this.#fetchPart(each))
    return contents
  }
  async #fetchParts(content: Result['content']): Promise<Result['content']> {
    const parts: (Text | Media)[] = []
    for (const each of content) parts.push(await this.#fetchPart(each))
    return parts
  }
  /** A document may hold other media. */
  async #fetchPart<Part extends Content>(part: Part): Promise<Part | Media> {
    if (part.type !== 'media') return part
    if (needsFetch(part, this.#fetched)) return this.#fetch(part)
    const { parts }: Media = part
    return parts ? { ...(part as Media), parts: await this.#fetchParts(parts) } : part
  }
  async #fetch(media: Media): Promise<Media> {
    const { source, at = 'messages' } = media
    if (source.type !== 'url') return media
    const stored = await this.#host.findStored?.(source.url)
    if (stored && stored.size <= this.#remaining) return this.#inline(media, stored)
    const reply = await this.#request(source.url, at)
    const contentType =
      String(reply.headers['content-type'] ?? '')
        .split(';')[0]
        ?.trim()
        .toLowerCase() ?? ''
    const mime = VAGUE_TYPES.has(contentType)
      ? ((await mimeByContent(reply)) ?? mimeByExtension(source.url, media))
      : contentType
    const kind = kindOfMime(mime) === 'document' ? media.kind : kindOfMime(mime)
    const size = Number(reply.headers['content-length'] ?? 0)
    const { largest = 0 } = this.#uploader ?? {}
    if (this.#uploader && size > this.#remaining && size <= largest)
      return { ...media, kind, source: await this.#uploader.put(reply, { size, mime, path: at }) }
    const bytes = await this.#readBody(reply, at)
    return {
      ...media,
      kind,
      source: { type: 'data', data: Buffer.from(bytes).toString('base64'), mime },
    }
  }
  /** The gateway's own address may not be one that it can reach. */
  async #inline(media: Media, { mime, size, readBytes }: StoredMedia): Promise<Media> {
    this.#remaining -= size
    const base64 = asBuffer(await readBytes()).toString('base64')
    return { ...media, kind: kindOfMime(mime), source: { type: 'data', data: base64, mime } }
  }
  async #request(url: string, at: string): Promise<Reply> {
    const unreachable = (reason: string) =>
      fault('MEDIA_UNREACHABLE', [at, url.slice(0, 200), reason], { param: at })
    let reply: Reply
    try {
      const headers = { accept: '*/*' }
      reply = await this.#host.send('public', {
        method: 'GET',
        path: url,
        headers,
        signal: this.#signal,
        timeout: this.#uploader ? TIMEOUT_MS.uploaded : TIMEOUT_MS.inline,
      })
    } catch (error) {
      throw unreachable(error instanceof Error ? error.message : 'no response')
    }
    if (reply.status === 200) return reply
    await discardBody(reply)
    throw unreachable(`it responds with status ${reply.status}`)
  }
  async #readBody(reply: Reply, at: string): Promise<Uint8Array> {
    const tooLarge = () =>
      fault('MEDIA_TOO_LARGE', [at, Math.max(INLINE_LIMIT, this.#uploader?.largest ?? 0)], {
        param: at,
      })
    if (Number(reply.headers['content-length'] ?? 0) > this.#remaining) {
      await discardBody(reply)
      throw tooLarge()
    }
    try {
      const bytes = await reply.bytes(this.#remaining)
      this.#remaining -= bytes.length
      return bytes
    } catch (error) {
      if ((error as { code?: Json }).code === 'REPLY_TOO_LARGE') throw tooLarge()
      throw fault('MEDIA_UNREACHABLE', [at, 'the URL', 'the download broke off'], { param: at })
    }
  }
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  avi: 'video/x-msvideo',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
  mpeg: 'video/mpeg',
  mpg: 'video/mpeg',
  wmv: 'video/x-ms-wmv',
  flv: 'video/x-flv',
  '3gp': 'video/3gpp',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
}
const DEFAULT_MIME: Readonly<Record<Media['kind'], string>> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/mpeg',
  document: 'application/pdf',
}
/** Content types of servers that do not know the file. */
const VAGUE_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
])
const hasDecisiveBytes = ({ length }: Bytes): boolean => length >= DECISIVE_BYTES
const mimeByContent = async (reply: Reply): Promise<string | undefined> => {
  // Reading the whole body reports a response that breaks off.
  const start = await reply.peek(hasDecisiveBytes).catch(() => undefined)
  const { type } = mediaTypeOf(start ?? Buffer.alloc(0))
  return VAGUE_TYPES.has(type) ? undefined : type
}
/** MIME type by the file extension, for content that is not recognised. */
const mimeByExtension = (url: string, { kind }: Media): string => {
  const path = URL.parse(url)?.pathname ?? ''
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return EXTENSIONS[extension] ?? DEFAULT_MIME[kind]
}
