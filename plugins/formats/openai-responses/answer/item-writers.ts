/** Writers of output items: each emits the events for the beginning, growth and end of one item. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, lenientText, parseJson } from '../../fields.ts'
import { encodeCallId } from '../../hub/call-id.ts'
import type { Call, Content, HostedCall, Media, OpaquePayload, Thought } from '../../hub/content.ts'
import { encodePayload } from '../../hub/opaque-payload.ts'
import { dataUrl } from '../../media/media.ts'
import { encodeHostedCall } from '../hosted-tools.ts'
import { CALL_ID, itemId, NAME } from '../name.ts'

/** Emits one event of the current item; the caller adds position and sequence number. */
export type Emit = (type: string, members: Fields) => void
export type Status = 'completed' | 'incomplete'

/** The writer of one item. Its methods may be called in any order in which the hub's parts can
 *  arrive. */
export interface ItemWriter {
  /** The item as announced. */
  readonly item: Fields
  append(text: string, logprobs?: Json): void
  setPayload(payload: OpaquePayload): void
  /** Sets the final content. */
  setContent(content: Content): void
  /** Emits the last events and returns the whole item. */
  finish(status: Status): Fields
}
/** Defaults for methods that most items ignore. */
const IGNORED_CALLS = {
  append: () => undefined,
  setPayload: () => undefined,
  setContent: () => undefined,
}
/** The answer's id and the item's position, from which ids are made. */
export interface ItemPosition {
  readonly id: string
  readonly index: number
}

export const writeThought = (thought: Thought, position: ItemPosition, emit: Emit): ItemWriter => {
  const id = itemId('rs', position.id, position.index)
  const item = { id, type: 'reasoning', summary: [] }
  let text = ''
  let lastPayload = thought.payload
  const begin = (): void => {
    const part = { type: 'summary_text', text: '' }
    emit('response.reasoning_summary_part.added', { item_id: id, summary_index: 0, part })
  }
  return {
    ...IGNORED_CALLS,
    item,
    append: delta => {
      if (text === '') begin()
      text += delta
      const members = { item_id: id, summary_index: 0, delta }
      emit('response.reasoning_summary_text.delta', members)
    },
    setPayload: payload => {
      lastPayload = payload
    },
    finish: () => {
      const part = { type: 'summary_text', text }
      const at = { item_id: id, summary_index: 0 }
      if (text !== '') {
        emit('response.reasoning_summary_text.done', { ...at, text })
        emit('response.reasoning_summary_part.done', { ...at, part })
      }
      const ciphertext = lastPayload && ciphertextOf(lastPayload, id)
      const summary = text === '' ? [] : [part]
      return { ...item, summary, ...(ciphertext && { encrypted_content: ciphertext }) }
    },
  }
}
/** A ciphertext is bound to the id of its item: under another id it is packed together with its
 *  own. */
const ciphertextOf = (payload: OpaquePayload, id: string): string =>
  encodePayload(payload.id === id ? NAME : '', payload)

export const writeCall = (call: Call, position: ItemPosition, emit: Emit): ItemWriter => {
  const { type, prefix, member, event } = call.isFreeText ? FREE : FUNCTION
  const id = itemId(prefix, position.id, position.index)
  const { name, namespace } = call
  const facts = {
    id,
    type,
    call_id: encodeCallId(call.id, CALL_ID),
    name,
    ...(namespace !== undefined && { namespace }),
  }
  let input = ''
  const grow = (delta: string): void => {
    input += delta
    emit(`response.${event}.delta`, { item_id: id, delta })
  }
  return {
    ...IGNORED_CALLS,
    item: { ...facts, [member]: '', status: 'in_progress' },
    append: grow,
    finish: status => {
      if (input === '' && !call.isFreeText) grow('{}')
      emit(`response.${event}.done`, { item_id: id, [member]: input })
      return { ...facts, [member]: input, status }
    },
  }
}
/** A search for tools, which the client runs: its arguments are an object, and come whole. */
export const writeSearch = (call: Call, position: ItemPosition): ItemWriter => {
  const id = itemId('tsc', position.id, position.index)
  const call_id = encodeCallId(call.id, CALL_ID)
  const facts = { id, type: 'tool_search_call', call_id, execution: 'client' }
  let input = ''
  return {
    ...IGNORED_CALLS,
    item: { ...facts, arguments: {}, status: 'in_progress' },
    append: delta => {
      input += delta
    },
    finish: status => ({ ...facts, arguments: parseJson(input) ?? {}, status }),
  }
}
const FUNCTION = {
  type: 'function_call',
  prefix: 'fc',
  member: 'arguments',
  event: 'function_call_arguments',
}
const FREE = {
  type: 'custom_tool_call',
  prefix: 'ctc',
  member: 'input',
  event: 'custom_tool_call_input',
}

/** Undefined if this format has no item for it. */
export const writeHostedCall = (
  call: HostedCall,
  position: ItemPosition,
  emit: Emit,
): ItemWriter | undefined => {
  const base = `${position.id}_${position.index}`
  const item = encodeHostedCall(call, base, 'in_progress')
  if (!item) return undefined
  const id = lenientText(item, 'id') ?? base
  const { startPhases = [], endPhases = [] } = PHASES[lenientText(item, 'type') ?? ''] ?? {}
  let lastCall = call
  let hasBegun = false
  /** Runs after the item was announced. */
  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    for (const phase of startPhases) emit(`response.${item.type}.${phase}`, { item_id: id })
  }
  return {
    ...IGNORED_CALLS,
    item,
    setContent: content => {
      begin()
      if (content.type === 'hostedCall') lastCall = content
    },
    finish: status => {
      begin()
      const finalItem = { ...encodeHostedCall(lastCall, base, status), id }
      emitInput(finalItem, id, emit)
      const hasFailed = item.type === 'mcp_call' && lastCall.error !== undefined
      for (const phase of hasFailed ? ['failed'] : endPhases)
        emit(`response.${item.type}.${phase}`, { item_id: id })
      return finalItem
    },
  }
}
const emitInput = (item: Fields, id: string, emit: Emit): void => {
  if (item.type === 'mcp_call') {
    const { arguments: input = '' } = item
    emit('response.mcp_call_arguments.delta', { item_id: id, delta: input })
    emit('response.mcp_call_arguments.done', { item_id: id, arguments: input })
  }
  if (item.type !== 'code_interpreter_call') return
  const code = lenientText(item, 'code') ?? ''
  emit('response.code_interpreter_call_code.delta', { item_id: id, delta: code })
  emit('response.code_interpreter_call_code.done', { item_id: id, code })
}
const PHASES: Readonly<
  Record<string, { readonly startPhases: readonly string[]; readonly endPhases: readonly string[] }>
> = {
  web_search_call: { startPhases: ['in_progress', 'searching'], endPhases: ['completed'] },
  file_search_call: { startPhases: ['in_progress', 'searching'], endPhases: ['completed'] },
  mcp_call: { startPhases: ['in_progress'], endPhases: ['completed'] },
  code_interpreter_call: { startPhases: ['in_progress'], endPhases: ['interpreting', 'completed'] },
}

/** An image with its data. */
export const writeImage = (
  media: Media,
  position: ItemPosition,
  emit: Emit,
): ItemWriter | undefined => {
  const { source } = media
  if (media.kind !== 'image' || source.type !== 'data') return undefined
  const id = itemId('ig', position.id, position.index)
  const item = { id, type: 'image_generation_call', result: null, status: 'in_progress' }
  return {
    ...IGNORED_CALLS,
    item,
    finish: () => {
      for (const phase of ['in_progress', 'generating', 'completed'])
        emit(`response.image_generation_call.${phase}`, { item_id: id })
      const format = source.mime.replace(/^image\//, '')
      return { ...item, output_format: format, result: source.data, status: 'completed' }
    },
  }
}
/** Media that no item holds, as text; undefined for the images of `writeImage`. */
export const mediaText = ({ kind, source }: Media): string | undefined => {
  if (source.type === 'text') return source.text
  if (source.type === 'data' && kind === 'image') return undefined
  const address =
    source.type === 'data' ? dataUrl(source) : source.type === 'url' ? source.url : source.file
  return `${kind === 'image' ? '!' : ''}[${kind}](${address})`
}
