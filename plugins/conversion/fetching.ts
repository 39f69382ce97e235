/** Media that a client names by address and whose target takes none: fetched here, from public addresses only, and carried
 *  inside the request. What an address turns out to be is believed over what it looked like. */
import { errors } from '../../engine/errors.ts'
import type { Host, Json, Reply } from '../../engine/plugin.ts'
import type { Content, Media, Source } from '../formats/content.ts'
import type { Prompt, Turn } from '../formats/hub.ts'
import { kindOfMime } from '../formats/media.ts'
import { abandon } from './refusal.ts'

const fault = errors({
  MEDIA_UNREACHABLE: [400, "'%s': %s cannot be fetched: %s"],
  MEDIA_TOO_LARGE: [400, "'%s': the media of a request may hold %d bytes in all."],
})

/** ms until all of one address must be there: inside a request, or at the upstream. */
const PATIENCE = { carried: 30_000, uploaded: 900_000 }
/** Bytes of all media of one request: what a request may hold is 20 MB, base64 takes a third more. */
const ROOM = 14 * 1024 * 1024

export const KINDS = ['image', 'document', 'audio', 'video'] as const
export type Send = Pick<Host, 'send'>
/** How what does not fit into a request reaches its target. */
interface Upload {
  /** Bytes of one file. */
  readonly largest: number
  /** `reply`: what serves it. */
  put(
    reply: Reply,
    file: { readonly size: number; readonly mime: string; readonly at: string },
  ): Promise<Source>
}

/** `kinds`: what the target does not fetch by itself. */
export const fetched = async (
  prompt: Prompt,
  kinds: readonly string[],
  host: Send,
  signal: AbortSignal,
  uploading?: Upload,
): Promise<Prompt> => {
  if (!prompt.turns.some(({ content }) => content.some(each => isAbsent(each, kinds))))
    return prompt
  const fetching = new Fetching(kinds, host, signal, uploading)
  const turns: Turn[] = []
  for (const turn of prompt.turns)
    turns.push({ ...turn, content: await fetching.all(turn.content) })
  return { ...prompt, turns }
}

/** An image may turn out to be a film, which the target takes inline only. */
const isAbsent = (content: Content, kinds: readonly string[]): content is Media =>
  content.type === 'media' && content.source.type === 'url' && kinds.includes(content.kind)

/** What one request has room for. */
export class Fetching {
  readonly #kinds: readonly string[]
  readonly #host: Send
  readonly #signal: AbortSignal
  readonly #uploading: Upload | undefined
  #room = ROOM

  constructor(
    kinds: readonly string[],
    host: Send,
    signal: AbortSignal,
    uploading?: Upload | undefined,
  ) {
    this.#uploading = uploading
    this.#kinds = kinds
    this.#host = host
    this.#signal = signal
  }
  /** One after the other: together they may not take more than there is room for. */
  async all(content: readonly Content[]): Promise<readonly Content[]> {
    const carried: Content[] = []
    for (const each of content)
      carried.push(isAbsent(each, this.#kinds) ? await this.#carry(each) : each)
    return carried
  }
  async #carry(media: Media): Promise<Media> {
    const { source, at = 'messages' } = media
    if (source.type !== 'url') return media
    const reply = await this.#ask(source.url, at)
    const declared =
      String(reply.headers['content-type'] ?? '')
        .split(';')[0]
        ?.trim()
        .toLowerCase() ?? ''
    const mime =
      declared === '' || declared === 'application/octet-stream'
        ? guessed(source.url, media)
        : declared
    const kind = kindOfMime(mime) === 'document' ? media.kind : kindOfMime(mime)
    const size = Number(reply.headers['content-length'] ?? 0)
    const { largest = 0 } = this.#uploading ?? {}
    if (this.#uploading && size > this.#room && size <= largest)
      return { ...media, kind, source: await this.#uploading.put(reply, { size, mime, at }) }
    const bytes = await this.#take(reply, at)
    return {
      ...media,
      kind,
      source: { type: 'data', data: Buffer.from(bytes).toString('base64'), mime },
    }
  }
  async #ask(url: string, at: string): Promise<Reply> {
    const refused = (why: string) =>
      fault('MEDIA_UNREACHABLE', [at, url.slice(0, 200), why], { param: at })
    let reply: Reply
    try {
      const headers = { accept: '*/*' }
      reply = await this.#host.send('public', {
        ...{ method: 'GET', path: url, headers, signal: this.#signal },
        timeout: this.#uploading ? PATIENCE.uploaded : PATIENCE.carried,
      })
    } catch (thrown) {
      throw refused(thrown instanceof Error ? thrown.message : 'nobody answers')
    }
    if (reply.status === 200) return reply
    await abandon(reply)
    throw refused(`it answers ${reply.status}`)
  }
  async #take(reply: Reply, at: string): Promise<Uint8Array> {
    const large = () =>
      fault('MEDIA_TOO_LARGE', [at, Math.max(ROOM, this.#uploading?.largest ?? 0)], { param: at })
    if (Number(reply.headers['content-length'] ?? 0) > this.#room) {
      await abandon(reply)
      throw large()
    }
    try {
      const bytes = await reply.bytes(this.#room)
      this.#room -= bytes.length
      return bytes
    } catch (thrown) {
      if ((thrown as { code?: Json }).code === 'REPLY_TOO_LARGE') throw large()
      throw fault('MEDIA_UNREACHABLE', [at, 'the address', 'it broke off'], { param: at })
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
const FALLBACK: Readonly<Record<Media['kind'], string>> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/mpeg',
  document: 'application/pdf',
}
/** Where a server does not say what it serves. */
const guessed = (url: string, { kind }: Media): string => {
  const path = URL.parse(url)?.pathname ?? ''
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return EXTENSIONS[extension] ?? FALLBACK[kind]
}
