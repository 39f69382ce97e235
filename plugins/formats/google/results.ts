/** Converts arguments and results of tools: an object in this format, text and media in others. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../fields.ts'
import type { Media, Result, Text } from '../hub/content.ts'

/** Members that hold the whole output, by the conventions of Google and of others. */
const OUTPUT_MEMBERS = ['output', 'result', 'return_value']

/** The text of a response. If the object has only one of these members, the text is that member's
 *  value. */
export const unwrapResponse = (
  value: Fields,
): { readonly text: string | undefined; readonly hasFailed: boolean } => {
  const keys = Object.keys(value)
  if (keys.length === 0) return { text: undefined, hasFailed: false }
  const hasFailed = keys.includes('error') && !keys.some(key => OUTPUT_MEMBERS.includes(key))
  const [only = ''] = keys
  const isSingle = keys.length === 1 && (hasFailed || OUTPUT_MEMBERS.includes(only))
  return { text: textOf(isSingle ? (value[only] as Json) : value), hasFailed }
}
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The response object: the original object, the JSON in the text, or the text under the member
 *  that Google reads. */
export const wrapResult = ({ value, content, hasFailed }: Result): Fields => {
  if (isFields(value)) return value
  const text = content
    .filter((each): each is Text => each.type === 'text')
    .map(each => each.text)
    .join('\n')
  const json = parseJson(text)
  if (hasFailed) return { error: isFields(json) ? json : text }
  if (isFields(json)) return json
  return text === '' ? {} : { output: text }
}
export const mediaIn = ({ content }: Result): readonly Media[] =>
  content.filter((each): each is Media => each.type === 'media')
