/** Builds parts of an answer and encodes them for messages clients. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { encodeStream } from '../../../helpers/formats/codec.ts'
import { messageOf, NAME, type SdkReader } from './messages.ts'

export const open = (index: number, content: Content, choice = 0): Part => ({
  type: 'open',
  index,
  choice,
  content,
})
export const grow = (index: number, text: string): Part => ({ type: 'grow', index, text })
export const close = (index: number, content?: Content): Part => ({
  type: 'close',
  index,
  ...(content && { content }),
})
export const stop = (
  reason: 'end' | 'call' | 'broken' | 'length' | 'filter',
  message?: string,
): Part => ({
  type: 'stop',
  choice: 0,
  stop: { reason, ...(message !== undefined && { message }) },
})
export const BEGIN: Part = { type: 'begin', id: 'chatcmpl-1', model: 'gpt', created: 1 }
export const END: Part = { type: 'end' }
export const TEXT: Content = { type: 'text', text: '' }
export const THOUGHT: Content = { type: 'thought', text: '' }
export const call = (id: string): Content => ({ type: 'call', id, name: 'look', input: '' })

export const writeAll = (...parts: readonly Part[]): string => encodeStream(NAME, parts)
/** Reads the encoded parts with the official SDK and with an independent reader, which must
 *  agree. */
export const readBySdk =
  (stage: SdkReader) =>
  async (...parts: readonly Part[]): Promise<Fields> => {
    const sse = writeAll(...parts)
    const message = await stage.read(sse)
    const { content } = messageOf(sse) ?? {}
    if (JSON.stringify(kinds(content)) !== JSON.stringify(kinds(message.content)))
      throw new Error(`two readers disagree about ${sse}`)
    return message
  }
const kinds = (content: Json | undefined): readonly unknown[] =>
  Array.isArray(content) ? content.map(block => (block as Fields).type) : []
export const eventTypes = (sse: string): readonly string[] =>
  [...sse.matchAll(/^event: (\w+)$/gm)].map(([, type = '']) => type)
