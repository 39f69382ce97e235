/** Decodes an upstream's output items to hub content. Missing or unexpected members are not
 *  errors. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObjects, lenientText } from '../../fields.ts'
import type {
  Call,
  Content,
  Media,
  OpaquePayload,
  Refusal,
  Text,
  Thought,
} from '../../hub/content.ts'
import { citationOf } from '../citations.ts'
import { decodeHostedCall } from '../hosted-tools.ts'
import { NAME } from '../name.ts'

export const contentOf = (item: Fields): readonly Content[] => {
  const type = lenientText(item, 'type')
  return type === undefined ? [] : (READERS[type] ?? readHostedCall)(item)
}

/** A part of a message; undefined if it is empty. */
export const messagePartOf = (part: Fields, item: Fields): Text | Refusal | undefined => {
  const { type } = part
  if (type === 'refusal') {
    const refusal = lenientText(part, 'refusal') ?? ''
    return refusal === '' ? undefined : { type, text: refusal }
  }
  const text = lenientText(part, 'text') ?? ''
  const citations = lenientObjects(part, 'annotations').map(citationOf)
  if (text === '' && citations.length === 0) return undefined
  const payload = phaseOf(item)
  return {
    type: 'text',
    text,
    ...(citations.length > 0 && { citations }),
    ...(payload && { payload }),
  }
}
/** Only the phase `commentary` must return to the provider. Commentary precedes other content, so
 *  clients without a field for the payload lose nothing by the thought that carries it. */
export const phaseOf = (item: Fields): OpaquePayload | undefined =>
  item.phase === 'commentary' ? { origin: NAME, kind: 'phase', data: item.phase } : undefined

/** Drops a thought with neither text nor ciphertext. */
const thoughtOf = (item: Fields): Thought | undefined => {
  const text = thoughtText(item)
  const payload = payloadOf(item)
  if (text === '' && !payload) return undefined
  return { type: 'thought', text, ...(payload && { payload }) }
}
/** The ciphertext is bound to the id of its item. */
const payloadOf = (item: Fields): OpaquePayload | undefined => {
  const ciphertext = lenientText(item, 'encrypted_content')
  const id = lenientText(item, 'id')
  return ciphertext ? { origin: NAME, data: ciphertext, ...(id && { id }) } : undefined
}
/** The summary, or else the full thoughts. */
export const thoughtText = (item: Fields): string => {
  const summary = textsIn(item, 'summary')
  return (summary.length > 0 ? summary : textsIn(item, 'content')).join('\n\n')
}
const textsIn = (item: Fields, key: string): readonly string[] =>
  lenientObjects(item, key).flatMap(part => lenientText(part, 'text') || [])

/** A call of a client's tool, with its input so far. */
export const callOf = (item: Fields): Call => {
  const isFreeText = item.type === 'custom_tool_call'
  const namespace = lenientText(item, 'namespace')
  const input = lenientText(item, isFreeText ? 'input' : 'arguments') ?? objectText(item.arguments)
  return {
    type: 'call',
    id: lenientText(item, 'call_id') ?? lenientText(item, 'id') ?? '',
    name: lenientText(item, 'name') ?? '',
    ...(namespace !== undefined && { namespace }),
    input: input === '' && !isFreeText ? '{}' : input,
    ...(isFreeText && { isFreeText }),
  }
}
const objectText = (value: Json | undefined): string =>
  isFields(value) ? JSON.stringify(value) : ''

/** One upstream sends its own searches in the shape of free-text tool calls. */
export const isCall = (item: Fields): boolean =>
  item.type === 'function_call' ||
  (item.type === 'custom_tool_call' && !lenientText(item, 'call_id')?.startsWith('xs_call'))

export const imageOf = (item: Fields): Media | undefined => {
  const base64 = lenientText(item, 'result')
  if (!base64) return undefined
  const mime = `image/${lenientText(item, 'output_format') ?? 'png'}`
  return { type: 'media', kind: 'image', source: { type: 'data', data: base64, mime } }
}

const readHostedCall = (item: Fields): readonly Content[] => [decodeHostedCall(item)]
const asList = (content: Content | undefined): readonly Content[] => (content ? [content] : [])
const READERS: Readonly<Record<string, (item: Fields) => readonly Content[]>> = {
  message: item => lenientObjects(item, 'content').flatMap(part => messagePartOf(part, item) ?? []),
  reasoning: item => asList(thoughtOf(item)),
  function_call: item => [callOf(item)],
  custom_tool_call: item => (isCall(item) ? [callOf(item)] : readHostedCall(item)),
  image_generation_call: item => asList(imageOf(item)),
}
