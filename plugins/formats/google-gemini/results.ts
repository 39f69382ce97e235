/** What a client's tool gave: an object here, text and media elsewhere. */
import type { Json } from '../../../engine/plugin.ts'
import type { Media, Result, Text } from '../content.ts'
import { type Fields, isFields, parsed } from '../fields.ts'

/** Members that hold nothing but the output, by Google's convention and by those of others. */
const OUTPUTS = ['output', 'result', 'return_value']

/** The text of a response. An object with one of the known members alone is what stands in it. */
export const unwrapped = (
  value: Fields,
): { readonly text: string | undefined; readonly failed: boolean } => {
  const keys = Object.keys(value)
  if (keys.length === 0) return { text: undefined, failed: false }
  const failed = keys.includes('error') && !keys.some(key => OUTPUTS.includes(key))
  const [only = ''] = keys
  const alone = keys.length === 1 && (failed || OUTPUTS.includes(only))
  return { text: textOf(alone ? (value[only] as Json) : value), failed }
}
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The object for a result: as it was given, or what its text says, or the text under the name Google reads. */
export const wrapped = ({ value, content, failed }: Result): Fields => {
  if (isFields(value)) return value
  const text = content
    .filter((each): each is Text => each.type === 'text')
    .map(each => each.text)
    .join('\n')
  const said = parsed(text)
  if (failed) return { error: isFields(said) ? said : text }
  if (isFields(said)) return said
  return text === '' ? {} : { output: text }
}
export const mediaIn = ({ content }: Result): readonly Media[] =>
  content.filter((each): each is Media => each.type === 'media')
