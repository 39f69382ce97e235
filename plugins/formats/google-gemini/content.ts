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
import { mimeOfUrl, sourceOfUri, standardBase64 } from '../google/media-source.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Media, Source } from '../hub/content.ts'
import { kindOfMime } from '../media/media.ts'
import type { MediaPlace } from '../media/media-places.ts'
import { NAME } from './name.ts'

// ---------------------------------------------------------------- decoding

export const readInline = (blob: RequestObject, part: RequestObject): Media => {
  const mime = blob.requiredText('mimeType').toLowerCase()
  const source: Source = { type: 'data', data: standardBase64(blob.requiredText('data')), mime }
  return mediaOf(source, kindOfMime(mime), blob, part)
}

export const readFile = (file: RequestObject, part: RequestObject): Media => {
  const uri = file.requiredText('fileUri')
  const { source, kind } = sourceOfUri(uri, file.text('mimeType'))
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

/** A part that is media, as the rules of a target see it; [] for others. */
export const placeOf = (part: Fields, isOfUser: boolean): readonly MediaPlace[] => {
  const mime = (data: Fields): string | undefined =>
    lenientText(data, 'mimeType') ?? lenientText(data, 'mime_type')
  const [inline, file] = [member(part, 'inlineData'), member(part, 'fileData')]
  const uri = lenientText(file, 'fileUri') ?? lenientText(file, 'file_uri')
  if (uri === undefined) {
    const type = mime(inline)
    return type === undefined ? [] : [{ kind: kindOfMime(type), isUrl: false, isOfUser }]
  }
  // Google reads addresses of its own format itself.
  return [{ kind: sourceOfUri(uri, mime(file)).kind, isUrl: false, isOfUser }]
}
/** An object by its name in camelCase or snake_case; an empty one if it is missing. */
export const member = (
  fields: Fields,
  name: 'inlineData' | 'fileData' | 'functionResponse',
): Fields => {
  const snake = name.replace(/[A-Z]/, letter => `_${letter.toLowerCase()}`)
  return lenientObject(fields, name in fields ? name : snake)
}

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
    const isRefused = mimeType.startsWith('image/') && !IMAGES.has(mimeType)
    if (isRefused || PACKED.test(mimeType)) throw unsupportedMedia(media, mimeType)
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
/** Files of other programs and archives, which Google refuses. */
const PACKED = /^application\/(?:vnd\.|msword|octet-stream|(?:[\w-]+\+)?(?:g?zip|x-tar|x-7z))/
/** The images that Google takes (ai.google.dev/gemini-api/docs/image-understanding). */
const IMAGES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
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
