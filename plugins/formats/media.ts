/** Media that stand in a request: data URLs, and what kind a media type is of. */
import type { Media, Source } from './content.ts'

/** Whose files an id names, where it came from one of OpenAI's formats: both name the same ones. */
export const OPENAI_FILES = 'openai'

type Inline = Extract<Source, { readonly type: 'data' }>

/** `data:image/png;base64,…`; undefined where it is another address. Data that is not base64 is made so. */
export const parseDataUrl = (url: string): Inline | undefined => {
  if (!url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  if (comma < 0) return undefined
  const [mime = '', ...more] = url.slice(5, comma).split(';')
  const rest = url.slice(comma + 1)
  const base64 = more.includes('base64') ? rest : Buffer.from(unescaped(rest)).toString('base64')
  return { type: 'data', data: base64, mime: mime === '' ? 'text/plain' : mime.toLowerCase() }
}
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
export const dataUrl = ({ data, mime }: Inline): string => `data:${mime};base64,${data}`

export const kindOfMime = (mime: string): Media['kind'] => {
  const [family = ''] = mime.split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}
