/** Converts parts of client messages and tool results: text, images, files. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  lenientText,
  omitUndefined,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { type CacheWriter, readCacheHint } from '../hub/cache-hint.ts'
import type { Media, Source, Text } from '../hub/content.ts'
import { dataUrl, kindOfMime, OPENAI_FILES, parseDataUrl } from '../media/media.ts'
import type { MediaPlace } from '../media/media-places.ts'
import { checkOpenaiImage, isWebUrl, unsupportedMedia } from '../media/openai-image.ts'

// ---------------------------------------------------------------- read

/** A string or a list of parts. */
export const readContent = (value: Json | undefined, at: string): readonly (Text | Media)[] => {
  if (typeof value === 'string') return [{ type: 'text', text: value }]
  if (value === undefined || value === null) throw fault('MEMBER_MISSING', [at], { param: at })
  if (!Array.isArray(value)) throw fault('MEMBER_TYPE', [at, 'a string or an array'], { param: at })
  return value.map((part, index) => {
    const path = `${at}[${index}]`
    return readPart(requireObject(part, path), path)
  })
}
const readPart = (part: Fields, at: string): Text | Media => {
  const type = requireMember(textIn(part, 'type', `${at}.type`), `${at}.type`)
  const read = PARTS[type]
  if (!read) throw fault('MEMBER_VALUE', [`${at}.type`, `'${type}' is not known`], { param: at })
  return { ...read(part, at), ...readCacheHint(part, at) }
}

const readText = (part: Fields, at: string): Text => ({
  type: 'text',
  text: requireMember(textIn(part, 'text', `${at}.text`), `${at}.text`),
})
const readImage = (part: Fields, at: string): Media => {
  const detail = textIn(part, 'detail', `${at}.detail`)
  const url = textIn(part, 'image_url', `${at}.image_url`)
  const file = textIn(part, 'file_id', `${at}.file_id`)
  const path = `${at}.image_url`
  const source = file === undefined ? sourceOf(requireMember(url, path), path) : fileOf(file)
  return { type: 'media', kind: 'image', source, at, ...(detail !== undefined && { detail }) }
}
const readFile = (part: Fields, at: string): Media => {
  const name = textIn(part, 'filename', `${at}.filename`)
  const bytes = textIn(part, 'file_data', `${at}.file_data`)
  const url = textIn(part, 'file_url', `${at}.file_url`)
  const id = textIn(part, 'file_id', `${at}.file_id`)
  const source =
    bytes !== undefined
      ? dataOf(bytes, name)
      : id !== undefined
        ? fileOf(id)
        : sourceOf(requireMember(url, `${at}.file_data`), `${at}.file_url`)
  return { type: 'media', kind: kindOf(source), source, at, ...(name !== undefined && { name }) }
}
const readAudio = (part: Fields, at: string): Media => {
  const path = `${at}.input_audio`
  const inputAudio = requireMember(fieldsIn(part, 'input_audio', path), path)
  const base64 = requireMember(textIn(inputAudio, 'data', `${path}.data`), `${path}.data`)
  const format = requireMember(textIn(inputAudio, 'format', `${path}.format`), `${path}.format`)
  const mime = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
  return { type: 'media', kind: 'audio', source: { type: 'data', data: base64, mime }, at }
}
/** Accepts `text`, which several clients send by mistake and upstreams tolerate. */
const PARTS: Readonly<Record<string, (part: Fields, at: string) => Text | Media>> = {
  input_text: readText,
  output_text: readText,
  text: readText,
  input_image: readImage,
  input_file: readFile,
  input_audio: readAudio,
}

const fileOf = (id: string): Source => ({ type: 'file', file: id, origin: OPENAI_FILES })

/** A URL, or inline data. */
const sourceOf = (url: string, at: string): Source => {
  const inline = parseDataUrl(url)
  if (inline) return inline
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url))
    throw fault('MEMBER_VALUE', [at, 'expected a URL or a data URL'], { param: at })
  return { type: 'url', url }
}
/** File data: a data URL or plain base64. */
const dataOf = (data: string, name: string | undefined): Source =>
  parseDataUrl(data) ?? { type: 'data', data, mime: mimeOf(name) }

const mimeOf = (name = ''): string =>
  MIMES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? PDF
const PDF = 'application/pdf'
const MIMES: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
}
const kindOf = (source: Source): Media['kind'] =>
  source.type === 'data' ? kindOfMime(source.mime) : 'document'

/** A part that is media, as the rules of a target see it; [] for others. */
export const placeOf = (part: Fields, isOfUser: boolean): readonly MediaPlace[] => {
  const { type } = part
  const url = lenientText(part, type === 'input_image' ? 'image_url' : 'file_url')
  const isUrl = url !== undefined && !url.startsWith('data:')
  if (type === 'input_image') return [{ kind: 'image', isUrl, isOfUser }]
  if (type === 'input_audio') return [{ kind: 'audio', isUrl: false, isOfUser }]
  if (type !== 'input_file') return []
  const text = lenientText(part, 'file_data') ?? url ?? ''
  const kind = isUrl ? 'document' : kindOf(dataOf(text, lenientText(part, 'filename')))
  return [{ kind, isUrl, isOfUser }]
}

// ---------------------------------------------------------------- write

export const writePart = (part: Text | Media, hint: CacheWriter): Fields => ({
  ...(part.type === 'text'
    ? { type: 'input_text', text: part.text }
    : (WRITERS[part.kind] ?? rejectMedia)(part)),
  ...hint(part.cache),
})

const rejectMedia = ({ at = 'input', kind }: Media): never => {
  throw fault('CONTENT_UNSUPPORTED', [at, MEDIA_NAMES[kind]], { param: at })
}
const MEDIA_NAMES: Readonly<Record<Media['kind'], string>> = {
  image: 'This image',
  document: 'This document',
  audio: 'Audio',
  video: 'Video',
}
const writeImage = (media: Media): Fields => {
  const { source } = media
  checkOpenaiImage(media, 'input')
  const member =
    source.type === 'url'
      ? { image_url: source.url }
      : source.type === 'data'
        ? { image_url: dataUrl(source) }
        : { file_id: ownFile(media) }
  return { type: 'input_image', detail: media.detail ?? 'auto', ...member }
}
const writeDocument = (media: Media): Fields => {
  const { source, name } = media
  if (source.type === 'text') return { type: 'input_text', text: source.text }
  if (source.type === 'url') {
    if (!isWebUrl(source.url)) throw unsupportedMedia(media, 'input')
    return { type: 'input_file', file_url: source.url }
  }
  if (source.type === 'file') return { type: 'input_file', file_id: ownFile(media) }
  const { mime, filename } = source
  return omitUndefined({
    type: 'input_file',
    filename: name ?? filename ?? `document.${mime === PDF ? 'pdf' : (extensionOf(mime) ?? 'txt')}`,
    file_data: dataUrl(source),
  })
}
const WRITERS: Readonly<Partial<Record<Media['kind'], (media: Media) => Fields>>> = {
  image: writeImage,
  document: writeDocument,
}
const extensionOf = (mime: string): string | undefined =>
  Object.keys(MIMES).find(name => MIMES[name] === mime)

/** Other providers' files are not accessible. */
const ownFile = (media: Media): string => {
  const { source } = media
  return source.type === 'file' && source.origin === OPENAI_FILES ? source.file : rejectMedia(media)
}
