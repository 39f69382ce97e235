/** Converts contents: `{type: 'text', text}`, and media as `{type, data | uri, mime_type}`. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields, lenientObjects, lenientText, omitUndefined } from '../fields.ts'
import { mimeOfUrl, sourceOfUri, standardBase64 } from '../google/media-source.ts'
import { Offsets } from '../google/offsets.ts'
import { GOOGLE } from '../google/origin.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Citation, Media, Source, Text } from '../hub/content.ts'
import type { MediaPlace } from '../media/media-places.ts'

const MEDIA: ReadonlySet<string> = new Set(['image', 'audio', 'document', 'video'])
const isMediaKind = (type: string): type is Media['kind'] => MEDIA.has(type)
export const isContentType = (type: string): boolean => type === 'text' || MEDIA.has(type)

// ---------------------------------------------------------------- decoding

/** A content of a client. Its type must be that of a content. */
export const readContent = (object: RequestObject, dropped: DroppedFields): Text | Media => {
  const type = object.requiredText('type')
  if (isMediaKind(type)) return readMedia(type, object, dropped)
  const text = object.text('text')
  if (text === undefined) throw valueFault(object.pathOf('text'), 'expected a string')
  const citations = citationsIn({ annotations: object.list('annotations') }, offsetsOf(text))
  object.reportUnread(dropped, 'type')
  return { type: 'text', text, ...(citations.length > 0 && { citations }) }
}
const readMedia = (kind: Media['kind'], object: RequestObject, dropped: DroppedFields): Media => {
  const { data, uri, mime } = {
    data: object.text('data'),
    uri: object.text('uri'),
    mime: object.text('mime_type'),
  }
  const name = object.text('name')
  const resolution = object.text('resolution')
  const detail = resolution === 'ultra_high' ? 'high' : resolution
  if (resolution === 'ultra_high') dropped.add(object.pathOf('resolution'))
  const clip = readClip(object)
  object.reportUnread(dropped, 'type')
  return {
    type: 'media',
    kind,
    source: sourceOf(object, { data, uri, mime }),
    at: object.path,
    ...(detail !== undefined && { detail: detail === 'medium' ? 'auto' : detail }),
    ...(name !== undefined && { name }),
    ...(clip && { clip }),
  }
}
const sourceOf = (
  object: RequestObject,
  { data, uri, mime }: { readonly [name in 'data' | 'uri' | 'mime']: string | undefined },
): Source => {
  if (uri !== undefined) return sourceOfUri(uri, mime).source
  if (data === undefined) throw valueFault(object.path, 'expected data or uri')
  return { type: 'data', data: standardBase64(data), mime: mimeOf(object, mime) }
}
const mimeOf = (object: RequestObject, mime: string | undefined): string => {
  if (mime) return mime.toLowerCase()
  throw valueFault(object.pathOf('mime_type'), 'expected the type of the data')
}
/** `{startOffset, endOffset, fps}`, as the hub has it. A video that is not cut stays whole. */
const readClip = (object: RequestObject): Fields | undefined => {
  const value = object.fields.processing
  if (!isFields(value)) return undefined
  const processing = object.object('processing')
  const clip = omitUndefined({
    startOffset: processing?.text('start_offset'),
    endOffset: processing?.text('end_offset'),
    fps: processing?.number('fps'),
  })
  return Object.keys(clip).length > 0 ? clip : undefined
}

/** Media of the input: of contents, of steps and of results of functions. */
export const placesIn = ({ input = null }: Fields): readonly MediaPlace[] =>
  (Array.isArray(input) ? input : [input])
    .filter(isFields)
    .flatMap(step => [
      ...placeOf(step, true),
      ...lenientObjects(step, 'content').flatMap(each => placeOf(each, !isOfModel(step))),
      ...lenientObjects(step, 'result').flatMap(each => placeOf(each, false)),
    ])
const isOfModel = ({ type, role }: Fields): boolean => type === 'model_output' || role === 'model'
const placeOf = (content: Fields, isOfUser: boolean): readonly MediaPlace[] => {
  const type = lenientText(content, 'type') ?? ''
  // Google reads addresses of its own format itself.
  return isMediaKind(type) ? [{ kind: type, isUrl: false, isOfUser }] : []
}

/** Media of an upstream; undefined for other contents. */
export const mediaIn = (content: Fields): Media | undefined => {
  const [type = '', data, uri] = ['type', 'data', 'uri'].map(key => lenientText(content, key))
  const mime = lenientText(content, 'mime_type') ?? ''
  if (!isMediaKind(type)) return undefined
  if (data !== undefined)
    return { type: 'media', kind: type, source: { type: 'data', data: standardBase64(data), mime } }
  if (uri === undefined) return undefined
  return { type: 'media', kind: type, source: { type: 'url', url: uri, ...(mime && { mime }) } }
}

// ---------------------------------------------------------------- encoding

export const writeContent = (content: Text | Media): Fields =>
  content.type === 'text' ? writeText(content) : writeMedia(content)
const writeText = ({ text, citations = [] }: Text): Fields => {
  const offsets = citations.length > 0 ? offsetsOf(text) : new Offsets()
  const annotations = citations.flatMap(each => writeCitation(each, offsets))
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }) }
}
const writeMedia = ({ kind, source }: Media): Fields => {
  if (source.type === 'text') return { type: 'text', text: source.text }
  const address =
    source.type === 'data'
      ? { data: source.data }
      : { uri: source.type === 'url' ? source.url : source.file }
  return omitUndefined({ type: kind, ...address, mime_type: source.mime })
}

/** Media for an upstream. Throws for files of other providers, and addresses that it refuses. */
export const encodeMedia = (media: Media, dropped: DroppedFields): Fields => {
  const { kind, source, detail, name, context, citationsEnabled, clip } = media
  const resolution = detail === 'low' || detail === 'high' ? detail : undefined
  const takesDetail = kind === 'image' || kind === 'video'
  if (resolution !== undefined && !takesDetail) dropped.add('detail')
  if (name !== undefined && kind !== 'video') dropped.add('filename')
  if (clip !== undefined && kind !== 'video') dropped.add('clip')
  if (context !== undefined) dropped.add('context')
  if (citationsEnabled) dropped.add('citations')
  return omitUndefined({
    ...addressOf(media, source),
    name: kind === 'video' ? name : undefined,
    resolution: takesDetail ? resolution : undefined,
    processing: kind === 'video' && isFields(clip) ? processingOf(clip) : undefined,
  })
}
const processingOf = ({ startOffset, endOffset, fps }: Fields): Fields =>
  omitUndefined({ type: 'static', start_offset: startOffset, end_offset: endOffset, fps })
const addressOf = (media: Media, source: Source): Fields => {
  const { kind } = media
  if (source.type === 'data') {
    if (kind === 'image' && !IMAGES.has(source.mime)) throw unsupportedMedia(media, source.mime)
    return { type: kind, data: source.data, mime_type: source.mime }
  }
  if (source.type === 'text') {
    const base64 = Buffer.from(source.text).toString('base64')
    return { type: 'document', data: base64, mime_type: 'text/plain' }
  }
  if (source.type === 'url' && !source.url.startsWith('https://'))
    throw unsupportedMedia(media, 'a URL without https')
  if (source.type === 'file' && source.origin !== GOOGLE)
    throw unsupportedMedia(media, 'a file of another provider')
  const uri = source.type === 'url' ? source.url : source.file
  return omitUndefined({ type: kind, uri, mime_type: source.mime ?? mimeOfUrl(uri) })
}
/** The SDK's `ImageContentMimeType`. */
const IMAGES: ReadonlySet<string> = new Set(
  ['png', 'jpeg', 'webp', 'heic', 'heif', 'gif', 'bmp', 'tiff'].map(name => `image/${name}`),
)
const unsupportedMedia = ({ at, kind }: Media, what: string): Error =>
  fault('CONTENT_UNSUPPORTED', [at ?? kind, what], at === undefined ? {} : { param: at })

// ---------------------------------------------------------------- citations

const offsetsOf = (text: string): Offsets => {
  const offsets = new Offsets()
  offsets.add(text)
  return offsets
}
/** `offsets`: of the cited text so far. Indices count its bytes. */
export const writeCitation = (
  { url, title, file, start, end }: Citation,
  offsets: Offsets,
): readonly Fields[] => {
  if (url === undefined && file === undefined) return []
  const place = {
    start_index: offsets.byteAt(start ?? 0),
    end_index: end === undefined ? offsets.bytes : offsets.byteAt(end),
  }
  return [
    url === undefined
      ? omitUndefined({ type: 'file_citation', document_uri: file, file_name: title, ...place })
      : omitUndefined({ type: 'url_citation', url, title, ...place }),
  ]
}
/** `offsets`: of the cited text so far. */
export const citationsIn = (content: Fields, offsets: Offsets): readonly Citation[] => {
  const annotations = lenientObjects(content, 'annotations')
  if (annotations.length === 0) return []
  const unitAt = (value: Json | undefined): number | undefined =>
    typeof value === 'number' ? offsets.unitAt(value) : undefined
  return annotations.flatMap(annotation => {
    const [url, title] = [lenientText(annotation, 'url'), lenientText(annotation, 'title')]
    const file = lenientText(annotation, 'document_uri') ?? lenientText(annotation, 'media_id')
    const name = title ?? lenientText(annotation, 'file_name') ?? lenientText(annotation, 'name')
    const [start, end] = [unitAt(annotation.start_index), unitAt(annotation.end_index)]
    if (url === undefined && file === undefined) return []
    return [
      {
        ...(url !== undefined && { url }),
        ...(file !== undefined && { file }),
        ...(name !== undefined && { title: name }),
        ...(start !== undefined && { start }),
        ...(end !== undefined && { end }),
      },
    ]
  })
}
