/** Inline media: data URLs, and the kind of a media type. */
import type { Media, Source } from '../hub/content.ts'

/** The origin of file ids from OpenAI's formats, which share their files. */
export const OPENAI_FILES = 'openai'

type InlineSource = Extract<Source, { readonly type: 'data' }>

/** Parses `data:image/png;base64,…`; undefined for other URLs. Converts data that is not base64. */
export const parseDataUrl = (url: string): InlineSource | undefined => {
  if (!url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  if (comma < 0) return undefined
  const [mime = '', ...parameters] = url.slice(5, comma).split(';')
  const rest = url.slice(comma + 1)
  const isBase64 = parameters.includes('base64')
  const base64 = isBase64 ? rest : Buffer.from(percentDecode(rest)).toString('base64')
  // By RFC 2397 a URL without a type is text; clients that write base64 forgot the type.
  const defaultType = isBase64 ? 'application/octet-stream' : 'text/plain'
  return { type: 'data', data: base64, mime: mime === '' ? defaultType : mime.toLowerCase() }
}
const percentDecode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
export const dataUrl = ({ data, mime }: InlineSource): string => `data:${mime};base64,${data}`

const TEXT_TYPE = /^(?:text\/|application\/(?:json|jsonl|xml|yaml|x-yaml|javascript|x-ndjson)\b)/
/** The text of a document; undefined if it is elsewhere, or of another type. */
export const textOfSource = (source: Source): string | undefined => {
  if (source.type === 'text') return source.text
  if (source.type !== 'data' || !TEXT_TYPE.test(source.mime)) return undefined
  return Buffer.from(source.data, 'base64').toString()
}

export const kindOfMime = (mime: string): Media['kind'] => {
  const [family = ''] = mime.split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}
