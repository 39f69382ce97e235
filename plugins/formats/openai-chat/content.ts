/** Parts of a user message: text, images, audio, files, and videos given as an image URL. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  lenientObjects,
  listIn,
  lookUp,
  omitUndefined,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { type CacheWriter, readCacheHint } from '../hub/cache-hint.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Content, Media, Source, Text } from '../hub/content.ts'
import { dataUrl, OPENAI_FILES, parseDataUrl } from '../media/media.ts'
import type { MediaPlace } from '../media/media-places.ts'
import { checkOpenaiImage, unsupportedMedia } from '../media/openai-image.ts'

/** `content` of a message: text or a list of parts. */
export const readContent = (message: Fields, at: string): readonly (Text | Media)[] => {
  const { content } = message
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (listIn(message, 'content', `${at}.content`) ?? []).map((part, index) =>
    readPart(requireObject(part, `${at}.content[${index}]`), `${at}.content[${index}]`),
  )
}
type Reader = (part: Fields, at: string) => Text | Media
export const readPart: Reader = (part, at) => {
  const reader = lookUp(READERS, String(part.type))
  if (!reader)
    throw fault('MEMBER_VALUE', [`${at}.type`, `unknown part type ${String(part.type)}`], {
      param: `${at}.type`,
    })
  return { ...reader(part, at), ...readCacheHint(part, at) }
}
const READERS: Readonly<Record<string, Reader>> = {
  text: (part, at) => ({
    type: 'text',
    text: requireMember(textIn(part, 'text', `${at}.text`), `${at}.text`),
  }),
  // Clients may send an assistant's refusal back as a part.
  refusal: (part, at) => ({ type: 'text', text: textIn(part, 'refusal', `${at}.refusal`) ?? '' }),
  image_url: (part, at) => readImage(part, at),
  input_audio: (part, at) => {
    const path = `${at}.input_audio`
    const audio = requireMember(fieldsIn(part, 'input_audio', path), path)
    const format = textIn(audio, 'format', `${path}.format`) ?? 'wav'
    const base64 = requireMember(textIn(audio, 'data', `${path}.data`), `${path}.data`)
    const mime = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
    return { type: 'media', kind: 'audio', source: { type: 'data', data: base64, mime }, at }
  },
  file: (part, at) =>
    readFile(requireMember(fieldsIn(part, 'file', `${at}.file`), `${at}.file`), `${at}.file`),
}

const readImage: Reader = (part, at) => {
  const { image_url: imageUrl } = part
  const path = `${at}.image_url`
  const image: Fields =
    typeof imageUrl === 'string' ? { url: imageUrl } : (fieldsIn(part, 'image_url', path) ?? {})
  const url = requireMember(textIn(image, 'url', `${path}.url`), `${path}.url`)
  const detail = textIn(image, 'detail', `${path}.detail`)
  const inline = parseDataUrl(url)
  return {
    type: 'media',
    kind: kindOf(inline?.mime ?? '', url),
    source: inline ?? { type: 'url', url },
    ...(detail !== undefined && { detail }),
    at,
  }
}
const VIDEO_EXTENSION = /\.(?:mp4|m4v|mov|avi|webm|mkv|mpe?g|wmv|flv|3gpp?)$/i
/** The kind of an image part: of inline data by its media type, of a URL by its extension. */
const kindOf = (mime: string, url: string): Media['kind'] => {
  if (mime !== '') return mime.startsWith('video/') ? 'video' : 'image'
  const path = URL.parse(url)?.pathname ?? url.replace(/[?#].*$/s, '')
  return VIDEO_EXTENSION.test(path) ? 'video' : 'image'
}
/** Whether a part is a video, which upstreams of this format do not accept as an image URL. */
export const isVideoPart = (part: Fields): boolean => {
  const url = part.type === 'image_url' ? urlOf(part) : undefined
  return url !== undefined && kindOf(parseDataUrl(url)?.mime ?? '', url) === 'video'
}
const urlOf = ({ image_url: imageUrl }: Fields): string | undefined => {
  const url = typeof imageUrl === 'string' ? imageUrl : (imageUrl as Fields | null)?.url
  return typeof url === 'string' ? url : undefined
}

/** The images, videos (which have the form of images), sounds and documents of messages. */
export const mediaIn = ({ messages }: Fields): readonly MediaPlace[] =>
  lenientObjects({ messages: messages ?? null }, 'messages').flatMap(message =>
    lenientObjects(message, 'content').flatMap((part): readonly MediaPlace[] => {
      const kind = isVideoPart(part) ? 'video' : lookUp(KINDS, String(part.type))
      if (!kind) return []
      const isUrl = part.type === 'image_url' && parseDataUrl(urlOf(part) ?? '') === undefined
      return [{ kind, isUrl, isOfUser: message.role === 'user' }]
    }),
  )
const KINDS: Readonly<Record<string, Media['kind']>> = {
  image_url: 'image',
  input_audio: 'audio',
  file: 'document',
}

const readFile = (file: Fields, at: string): Media => {
  const name = textIn(file, 'filename', `${at}.filename`)
  const id = textIn(file, 'file_id', `${at}.file_id`)
  const text = textIn(file, 'file_data', `${at}.file_data`)
  const source: Source | undefined =
    id !== undefined
      ? { type: 'file', file: id, origin: OPENAI_FILES }
      : text === undefined
        ? undefined
        : (parseDataUrl(text) ?? { type: 'data', data: text, mime: 'application/pdf' })
  return {
    type: 'media',
    kind: 'document',
    source: requireMember(source, `${at}.file_data`),
    ...(name !== undefined && { name }),
    at,
  }
}

// ---------------------------------------------------------------- towards an upstream

/** The context in which the parts of one request are encoded. */
export interface Writing {
  readonly dropped: DroppedFields
  readonly hint: CacheWriter
}

/** Reports what no part of this format can express. */
export const reportDropped = (content: Content, dropped: DroppedFields): void => {
  const cites = content.type === 'text' && content.citations && content.citations.length > 0
  if (cites || (content.type === 'media' && content.citationsEnabled)) dropped.add('citations')
  if (content.type === 'media') reportMediaFields(content, dropped)
}
/** Only a file with inline data has a name. */
const reportMediaFields = (
  { kind, source, name, context, clip }: Media,
  dropped: DroppedFields,
): void => {
  if (name !== undefined && !(kind === 'document' && source.type === 'data'))
    dropped.add('filename')
  if (context !== undefined) dropped.add('context')
  if (clip !== undefined) dropped.add('videoMetadata')
}
export const writePart = (content: Content, { dropped, hint }: Writing): Fields => {
  reportDropped(content, dropped)
  if (content.type === 'text') return { type: 'text', text: content.text, ...hint(content.cache) }
  if (content.type === 'media') return { ...writeMedia(content), ...hint(content.cache) }
  throw fault('CONTENT_UNSUPPORTED', ['messages', `a ${content.type}`])
}
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
}
const writeMedia = (media: Media): Fields => {
  const { kind, source, detail, name } = media
  if (kind === 'image' && (source.type === 'data' || source.type === 'url')) {
    checkOpenaiImage(media, 'messages')
    const url = source.type === 'url' ? source.url : dataUrl(source)
    return { type: 'image_url', image_url: omitUndefined({ url, detail }) }
  }
  if (kind === 'audio' && source.type === 'data') {
    const format = lookUp(AUDIO_FORMATS, source.mime)
    if (format !== undefined)
      return { type: 'input_audio', input_audio: { data: source.data, format } }
  }
  if (kind === 'document') return writeDocument(media, name)
  throw unsupportedMedia(media, 'messages')
}
const writeDocument = (media: Media, name: string | undefined): Fields => {
  const { source } = media
  if (source.type === 'text') return { type: 'text', text: source.text }
  if (source.type === 'file' && source.origin === OPENAI_FILES)
    return { type: 'file', file: { file_id: source.file } }
  if (source.type !== 'data') throw unsupportedMedia(media, 'messages')
  const filename = name ?? source.filename ?? 'document.pdf'
  return { type: 'file', file: { filename, file_data: dataUrl(source) } }
}

/** A single text as a string, anything else as parts. */
export const writeContent = (parts: readonly Fields[]): Json => {
  const [only] = parts
  const isText = parts.length === 1 && only?.type === 'text' && Object.keys(only).length === 2
  return isText ? (only.text as string) : (parts as Json)
}
