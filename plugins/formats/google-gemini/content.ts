/** Converts images, documents, audio and video: `inlineData` and `fileData`. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientText,
  lookUp,
  omitUndefined,
} from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Media, Source } from '../hub/content.ts'
import { kindOfMime } from '../media/media.ts'
import { NAME } from './name.ts'
import { type RequestObject, valueFault } from './request-object.ts'

/** Google accepts the standard and the URL-safe alphabet without padding; others require standard
 *  base64. */
const standardBase64 = (data: string): string => {
  const standard = /[-_]/.test(data) ? data.replace(/-/g, '+').replace(/_/g, '/') : data
  const remainder = standard.length % 4
  return remainder === 0 || standard.includes('\n')
    ? standard
    : standard + '='.repeat(4 - remainder)
}

// ---------------------------------------------------------------- decoding

export const readInline = (blob: RequestObject, part: RequestObject): Media => {
  const mime = blob.requiredText('mimeType').toLowerCase()
  const source: Source = { type: 'data', data: standardBase64(blob.requiredText('data')), mime }
  return mediaOf(source, kindOfMime(mime), blob, part)
}

/** URIs that only Google can open: its files, Cloud Storage and YouTube videos. */
const OWN_FILE = /^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/|files\/)/
const YOUTUBE_URL = /^https:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//

export const readFile = (file: RequestObject, part: RequestObject): Media => {
  const uri = file.requiredText('fileUri')
  const mime = file.text('mimeType')?.toLowerCase() ?? mimeOfUrl(uri)
  const kind = YOUTUBE_URL.test(uri) ? 'video' : kindOfMime(mime ?? '')
  const mimeMember = mime !== undefined && { mime }
  const source: Source = OWN_FILE.test(uri)
    ? { type: 'file', file: uri, origin: NAME, ...mimeMember }
    : { type: 'url', url: uri, ...mimeMember }
  return mediaOf(source, kind, file, part)
}
const mediaOf = (
  source: Source,
  kind: Media['kind'],
  data: RequestObject,
  part: RequestObject,
): Media => {
  const clip = part.value('videoMetadata')
  const resolution = part.value('mediaResolution')
  const level = isFields(resolution) ? lenientText(resolution, 'level') : resolution
  const detail = DETAILS.find(([, word]) => word === level)?.[0]
  const name = data.text('displayName')
  if (clip !== undefined && !isFields(clip))
    throw valueFault(part.pathOf('videoMetadata'), 'expected an object')
  return {
    type: 'media',
    kind,
    source,
    at: data.path,
    ...(clip !== undefined && { clip }),
    ...(detail && { detail }),
    ...(name !== undefined && { name }),
  }
}
const DETAILS: readonly (readonly [detail: string, level: string])[] = [
  ['low', 'MEDIA_RESOLUTION_LOW'],
  ['auto', 'MEDIA_RESOLUTION_MEDIUM'],
  ['high', 'MEDIA_RESOLUTION_HIGH'],
]

// ---------------------------------------------------------------- encoding

/** `levels`: whether the model accepts a resolution for each image. */
export const writeMedia = (media: Media, levels: boolean, dropped: DroppedFields): Fields => {
  const { detail, name, context, citationsEnabled, clip } = media
  const level = DETAILS.find(each => each[0] === detail)?.[1]
  if (detail !== undefined && detail !== 'auto' && !(levels && level)) dropped.add('detail')
  if (name !== undefined) dropped.add('filename')
  if (context !== undefined) dropped.add('context')
  if (citationsEnabled) dropped.add('citations')
  return omitUndefined({
    ...writeSource(media),
    videoMetadata: clip,
    mediaResolution: levels && level && detail !== 'auto' ? { level } : undefined,
  })
}
const writeSource = (media: Media): Fields => {
  const { source } = media
  if (source.type === 'data') {
    const mimeType = mimeFor(source.mime)
    if (REFUSED.has(mimeType)) throw unsupportedMedia(media, mimeType)
    return { inlineData: { mimeType, data: source.data } }
  }
  if (source.type === 'text') {
    const base64 = Buffer.from(source.text).toString('base64')
    return { inlineData: { mimeType: 'text/plain', data: base64 } }
  }
  if (source.type === 'file') {
    if (source.origin !== NAME) throw unsupportedMedia(media, 'a file of another provider')
    const mimeType = source.mime && mimeFor(source.mime)
    return { fileData: omitUndefined({ fileUri: source.file, mimeType }) }
  }
  if (!source.url.startsWith('https://')) throw unsupportedMedia(media, 'a URL without https')
  const mime = source.mime ?? mimeOfUrl(source.url)
  const mimeType = mime === undefined ? undefined : mimeFor(mime)
  return { fileData: omitUndefined({ fileUri: source.url, mimeType }) }
}
/** Images that Google refuses. */
const REFUSED: ReadonlySet<string> = new Set([
  'image/gif',
  'image/bmp',
  'image/tiff',
  'image/svg+xml',
  'image/x-icon',
])
/** Media types that Google names differently, or takes as text only. */
const ALIASES: Readonly<Record<string, string>> = {
  'video/quicktime': 'video/mov',
  'video/x-msvideo': 'video/avi',
  'video/x-ms-wmv': 'video/wmv',
  'audio/mpeg': 'audio/mp3',
  'text/markdown': 'text/md',
  'application/json': 'text/plain',
  'application/jsonl': 'text/plain',
}
export const mimeFor = (mime: string): string => lookUp(ALIASES, mime) ?? mime
export const unsupportedMedia = ({ at, kind }: Media, what: string): Error =>
  fault('CONTENT_UNSUPPORTED', [at ?? kind, what], at === undefined ? {} : { param: at })

/** By the extension of the path, without the query. */
const mimeOfUrl = (url: string): string | undefined => {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  const extension = /\.([A-Za-z0-9]{2,5})$/.exec(path)?.[1]?.toLowerCase()
  return extension === undefined ? undefined : lookUp(MIMES, extension)
}
const MIMES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  mov: 'video/mov',
  avi: 'video/avi',
  mpeg: 'video/mpeg',
  mpg: 'video/mpg',
  webm: 'video/webm',
  wmv: 'video/wmv',
  flv: 'video/x-flv',
  '3gp': 'video/3gpp',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  aiff: 'audio/aiff',
  m4a: 'audio/m4a',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/md',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
}

// ---------------------------------------------------------------- answers

/** Media that an upstream generated; undefined for other parts. */
export const mediaOfPart = (part: Fields): Media | undefined => {
  const inline = lenientObject(part, 'inlineData')
  const mime = lenientText(inline, 'mimeType')
  const base64 = lenientText(inline, 'data')
  if (mime !== undefined && base64 !== undefined) {
    const source = { type: 'data', data: standardBase64(base64), mime } as const
    return { type: 'media', kind: kindOfMime(mime), source }
  }
  const file = lenientObject(part, 'fileData')
  const url = lenientText(file, 'fileUri')
  const type = lenientText(file, 'mimeType')
  if (url === undefined) return undefined
  const source: Source = { type: 'url', url, ...(type !== undefined && { mime: type }) }
  return { type: 'media', kind: kindOfMime(type ?? ''), source }
}

/** Encodes media for a client; files are sent as their URI. */
export const writeMediaPart = ({ source }: Media): Json | undefined => {
  if (source.type === 'data') return { inlineData: { mimeType: source.mime, data: source.data } }
  if (source.type === 'text') return { text: source.text }
  const fileUri = source.type === 'url' ? source.url : source.file
  return { fileData: omitUndefined({ fileUri, mimeType: source.mime }) }
}
