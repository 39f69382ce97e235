/** Converts images and documents. */
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { Media, Source, Text } from '../hub/content.ts'
import { dataUrl, textOfSource } from '../media/media.ts'
import { blockInPayload, blockPayload, readCache, writeCache } from './cache.ts'
import {
  type FieldPath,
  flagIn,
  listIn,
  memberPath,
  NAME,
  objectIn,
  objectsIn,
  rejectValue,
  requiredObject,
  requiredText,
  textIn,
} from './members.ts'

type Read = (source: Fields, at: FieldPath) => Source
const SOURCES: Readonly<Record<string, Read>> = {
  base64: (source, at) => ({
    type: 'data',
    data: requiredText(source, 'data', at),
    mime: requiredText(source, 'media_type', at),
  }),
  url: (source, at) => ({ type: 'url', url: requiredText(source, 'url', at) }),
  file: (source, at) => ({ type: 'file', file: requiredText(source, 'file_id', at), origin: NAME }),
  text: (source, at) => ({ type: 'text', text: requiredText(source, 'data', at) }),
  content: (source, at) => ({ type: 'text', text: contentText(source, at) }),
}
const EMPTY_SOURCE: Source = { type: 'text', text: '' }

const readSource = (block: Fields, at: FieldPath): Source => {
  const source = requiredObject(block, 'source', at)
  const path = memberPath(at, 'source')
  const read = SOURCES[requiredText(source, 'type', path)]
  return (
    read?.(source, path) ?? rejectValue(memberPath(path, 'type'), 'no such source') ?? EMPTY_SOURCE
  )
}
/** The text of a document whose content is a list of blocks. */
const contentText = (source: Fields, at: FieldPath): string =>
  typeof source.content === 'string' ? source.content : joinTexts(readParts(source, at))
const joinTexts = (parts: readonly (Text | Media)[]): string =>
  parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')

/** Blocks inside a document or a search result. */
const readParts = (fields: Fields, at: FieldPath): readonly (Text | Media)[] =>
  objectsIn(listIn(fields, 'content', at) ?? [], memberPath(at, 'content')).flatMap(part => {
    const type = requiredText(part.fields, 'type', part.at)
    const read = PARTS[type]
    if (read) return [read(part.fields, part.at)]
    rejectValue(memberPath(part.at, 'type'), `'${type}' inside a document`)
    return []
  })
const PARTS: Readonly<Record<string, (block: Fields, at: FieldPath) => Text | Media>> = {
  text: (block, at) => ({
    type: 'text',
    text: requiredText(block, 'text', at),
    ...readCache(block, at),
  }),
  image: (block, at) => readImage(block, at),
}

export const readImage = (block: Fields, at: FieldPath): Media => ({
  type: 'media',
  kind: 'image',
  source: readSource(block, at),
  ...readCache(block, at),
  ...(at !== undefined && { at }),
})

export const readDocument = (block: Fields, at: FieldPath): Media => {
  const name = textIn(block, 'title', at)
  const context = textIn(block, 'context', at)
  const citationsEnabled = flagIn(
    objectIn(block, 'citations', at) ?? {},
    'enabled',
    memberPath(at, 'citations'),
  )
  const source = readSource(block, at)
  const content = objectIn(block, 'source', at) ?? {}
  const inBlocks = content.type === 'content'
  const isList = inBlocks && Array.isArray(content.content)
  return {
    type: 'media',
    kind: 'document',
    source,
    ...(name !== undefined && { name }),
    ...(context !== undefined && { context }),
    ...(citationsEnabled !== undefined && { citationsEnabled }),
    ...readCache(block, at),
    ...(inBlocks && { payload: blockPayload(block) }),
    ...(isList && { parts: readParts(content, memberPath(at, 'source')) }),
    ...(at !== undefined && { at }),
  }
}

/** A result of the client's own search; a document for other formats. */
export const readSearchResult = (block: Fields, at: FieldPath): Media => {
  const parts = readParts(block, at)
  return {
    type: 'media',
    kind: 'document',
    source: { type: 'text', text: joinTexts(parts) },
    parts,
    name: requiredText(block, 'title', at),
    context: requiredText(block, 'source', at),
    ...readCache(block, at),
    payload: blockPayload(block),
    ...(at !== undefined && { at }),
  }
}

/** A file for the container in which the model runs code. */
export const readUpload = (block: Fields, at: FieldPath): Media => ({
  type: 'media',
  kind: 'document',
  source: { type: 'file', file: requiredText(block, 'file_id', at), origin: NAME },
  ...readCache(block, at),
  payload: blockPayload(block),
  ...(at !== undefined && { at }),
})

// ---------------------------------------------------------------- towards an upstream

const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
])

/** Throws a fault for media that no block can hold. */
export const writeMedia = (media: Media): Fields => {
  const original = blockInPayload(media.payload)
  if (original) return original
  if (media.kind === 'image')
    return { type: 'image', source: imageSource(media), ...writeCache(media) }
  if (media.kind !== 'document') throw unsupportedMedia(media, media.kind)
  const { name, context, citationsEnabled } = media
  return {
    type: 'document',
    source: documentSource(media),
    ...(name !== undefined && { title: name }),
    ...(context !== undefined && { context }),
    ...(citationsEnabled !== undefined && { citations: { enabled: citationsEnabled } }),
    ...writeCache(media),
  }
}
const imageSource = (media: Media): Fields => {
  const { source } = media
  if (source.type === 'data') {
    if (!IMAGE_TYPES.has(source.mime))
      throw unsupportedMedia(media, `an image of type ${source.mime}`)
    return { type: 'base64', media_type: source.mime, data: source.data }
  }
  if (source.type === 'text') throw unsupportedMedia(media, 'an image written as text')
  return remoteSource(media, source)
}
const documentSource = (media: Media): Fields => {
  const { source } = media
  if (source.type === 'url' || source.type === 'file') return remoteSource(media, source)
  const text = textOfSource(source)
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text }
  const { data, mime } = source as Extract<Source, { type: 'data' }>
  if (mime === 'application/pdf') return { type: 'base64', media_type: mime, data }
  throw unsupportedMedia(media, `a file of type ${mime}`)
}

const remoteSource = (media: Media, source: Extract<Source, { type: 'url' | 'file' }>): Fields => {
  if (source.type === 'url') {
    if (!/^https:/i.test(source.url)) throw unsupportedMedia(media, 'a URL without https')
    return { type: 'url', url: source.url }
  }
  if (source.origin !== NAME) throw unsupportedMedia(media, 'a file kept by another provider')
  return { type: 'file', file_id: source.file }
}
const unsupportedMedia = ({ at = 'messages' }: Media, what: string): Error =>
  fault('CONTENT_UNSUPPORTED', [at, what], { param: at })

/** Converts media to Markdown text, because answers of this format hold no media. */
export const mediaAsText = ({ kind, source, name = kind }: Media): Text => ({
  type: 'text',
  text: `${kind === 'image' ? '!' : ''}[${name}](${addressOf(source)})`,
})
const addressOf = (source: Source): string => {
  if (source.type === 'url') return source.url
  if (source.type === 'data') return dataUrl(source)
  return source.type === 'file'
    ? source.file
    : `data:text/plain;base64,${Buffer.from(source.text).toString('base64')}`
}
