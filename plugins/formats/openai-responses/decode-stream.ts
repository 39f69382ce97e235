/** Decodes an upstream's stream event by event. A late event completes an item and never repeats
 *  it. If an upstream omits the events between the first and the last, the last one is decoded. */
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { Call, Content, OpaquePayload } from '../hub/content.ts'
import type { SseEvent } from '../stream/sse.ts'
import { callOf, contentOf, isCall, messagePartOf, phaseOf } from './answer/item.ts'
import { citationOf } from './citations.ts'
import { NAME } from './name.ts'
import { factsOf } from './response.ts'
import { stopOf } from './stops.ts'
import { metersOf } from './usage.ts'

type Emit = (part: Part) => void

/** An open block of the hub. */
interface Block {
  readonly index: number
  /** The number of characters emitted. */
  length: number
  citationCount: number
}
interface Item {
  type: string
  id: string
  phase: OpaquePayload | undefined
  readonly blocks: Map<string, Block>
  isDone: boolean
}

export const decodeStream = (): StreamDecoder => new Decoder()

class Decoder implements StreamDecoder {
  /** Items by their position in the output. */
  readonly #items = new Map<number, Item>()
  readonly #types = new Set<Content['type']>()
  #emit: Emit = () => undefined
  #blocks = 0
  #hasBegun = false
  #hasEnded = false

  push(event: SseEvent, emit: Emit): void {
    if (this.#hasEnded) return
    const fields = eventFields(event)
    if (!fields) return
    this.#emit = emit
    HANDLERS[lenientText(fields, 'type') ?? event.name]?.(this, fields)
  }
  close(): boolean {
    return this.#hasEnded
  }

  // -------------------------------------------------------------- handlers of events

  begin(response: Fields): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#emit({ type: 'begin', ...factsOf(response) })
  }
  announce(event: Fields): void {
    const fields = lenientObject(event, 'item')
    const item = this.#itemAt(positionOf(event), fields)
    const { type } = fields
    if (isCall(fields)) {
      // Complete arguments are also sent by their own events.
      const call: Call = { ...callOf(fields), input: '' }
      this.#open(item, INPUT, call)
    } else if (typeof type === 'string' && !LATE_TYPES.has(type))
      for (const content of contentOf(fields)) this.#open(item, WHOLE, content)
  }
  /** Appends to a text. */
  grow(event: Fields, kind: Content['type'], key: string): void {
    const item = this.#itemAt(positionOf(event), {})
    const delta = lenientText(event, 'delta') ?? ''
    if (item.isDone || delta === '') return
    const block = item.blocks.get(key) ?? this.#openText(item, kind, key)
    if (!block) return
    const { logprobs } = event
    const entries =
      Array.isArray(logprobs) && logprobs.length > 0
        ? { logprobs: { content: logprobs, refusal: null } }
        : {}
    block.length += delta.length
    this.#emit({ type: 'grow', index: block.index, text: delta, ...entries })
  }
  cite(event: Fields): void {
    const item = this.#itemAt(positionOf(event), {})
    const { annotation } = event
    if (item.isDone || !isFields(annotation)) return
    const key = keyOf(event)
    const block = item.blocks.get(key) ?? this.#openText(item, 'text', key)
    if (!block) return
    block.citationCount++
    this.#emit({ type: 'cite', index: block.index, citation: citationOf(annotation) })
  }
  /** Separates two parts of a summary. */
  separateParts(event: Fields): void {
    const block = this.#itemAt(positionOf(event), {}).blocks.get(THOUGHT)
    if (!block || block.length === 0 || event.summary_index === 0 || event.content_index === 0)
      return
    block.length += PARAGRAPH.length
    this.#emit({ type: 'grow', index: block.index, text: PARAGRAPH })
  }
  finishItem(fields: Fields, position: number): void {
    const item = this.#itemAt(position, fields)
    if (item.isDone) return
    item.isDone = true
    if (fields.type === 'message') {
      lenientObjects(fields, 'content').forEach((part, index) => {
        this.#complete(item, `${index}`, messagePartOf(part, fields))
      })
    } else {
      const key = isCall(fields) ? INPUT : fields.type === 'reasoning' ? THOUGHT : WHOLE
      for (const content of contentOf(fields)) this.#complete(item, key, content)
    }
    for (const { index } of item.blocks.values()) this.#emit({ type: 'close', index })
    item.blocks.clear()
  }
  end(response: Fields): void {
    this.begin(response)
    lenientObjects(response, 'output').forEach((item, position) => {
      if (!this.#isDone(item, position)) this.finishItem(item, this.#positionFor(item, position))
    })
    for (const { blocks } of this.#items.values())
      for (const { index } of blocks.values()) this.#emit({ type: 'close', index })
    if (isFields(response.usage)) this.#emit({ type: 'count', meters: metersOf(response.usage) })
    this.#emit({ type: 'stop', choice: 0, stop: stopOf(response, this.#types) })
    this.#emit({ type: 'end' })
    this.#hasEnded = true
  }

  // -------------------------------------------------------------- items and blocks

  /** Members of an item may arrive after its first event. */
  #itemAt(position: number, fields: Fields): Item {
    this.begin({})
    const item = this.#items.get(position) ?? {
      type: '',
      id: '',
      phase: undefined,
      blocks: new Map(),
      isDone: false,
    }
    item.type ||= lenientText(fields, 'type') ?? ''
    item.id ||= lenientText(fields, 'id') ?? ''
    item.phase ??= phaseOf(fields)
    this.#items.set(position, item)
    return item
  }
  /** Some upstreams order the whole response differently, or use other ids in it. */
  #isDone(fields: Fields, position: number): boolean {
    const sameItem = this.#items.get(position)
    if (sameItem?.isDone && sameItem.type === fields.type) return true
    return [...this.#items.values()].some(
      ({ isDone, id }) => isDone && id !== '' && id === fields.id,
    )
  }
  /** The position of the unfinished item with this id, or a new position. */
  #positionFor(fields: Fields, position: number): number {
    for (const [at, { isDone, id }] of this.#items)
      if (!isDone && id !== '' && id === fields.id) return at
    const sameItem = this.#items.get(position)
    return sameItem && (sameItem.isDone || (sameItem.type !== '' && sameItem.type !== fields.type))
      ? Math.max(...this.#items.keys()) + 1
      : position
  }
  #open(item: Item, key: string, content: Content): Block {
    const block = { index: this.#blocks++, length: 0, citationCount: 0 }
    item.blocks.set(key, block)
    this.#types.add(content.type)
    this.#emit({ type: 'open', index: block.index, choice: 0, content })
    return block
  }
  /** Opens a text at its first delta. A call needs its id and name first. */
  #openText(item: Item, kind: Content['type'], key: string): Block | undefined {
    const { phase: payload } = item
    if (kind === 'text')
      return this.#open(item, key, { type: kind, text: '', ...(payload && { payload }) })
    if (kind === 'refusal' || kind === 'thought')
      return this.#open(item, key, { type: kind, text: '' })
    return undefined
  }
  /** Emits the rest of an item: what its earlier events did not contain. */
  #complete(item: Item, key: string, content: Content | undefined): void {
    if (!content) return
    const openBlock = item.blocks.get(key)
    if (content.type === 'hostedCall' || content.type === 'media') {
      const { index } = openBlock ?? this.#open(item, key, content)
      this.#emit({ type: 'close', index, content })
      item.blocks.delete(key)
      return
    }
    const block = openBlock ?? this.#open(item, key, withoutText(content))
    const text = content.type === 'call' ? content.input : 'text' in content ? content.text : ''
    if (text.length > block.length)
      this.#emit({ type: 'grow', index: block.index, text: text.slice(block.length) })
    if (content.type === 'text')
      for (const citation of content.citations?.slice(block.citationCount) ?? [])
        this.#emit({ type: 'cite', index: block.index, citation })
    if (content.type === 'thought' && content.payload?.origin === NAME)
      this.#emit({ type: 'payload', index: block.index, payload: content.payload })
  }
}

const PARAGRAPH = '\n\n'
const INPUT = 'input'
const THOUGHT = 'thought'
const WHOLE = 'whole'
/** Items that open at their first delta or once they are complete. */
const LATE_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning', 'image_generation_call'])

/** The content as it opens, without its text. */
const withoutText = (content: Content): Content => {
  if (content.type === 'call') return { ...content, input: '' }
  if (content.type === 'text') {
    const { citations: _, ...text } = content
    return { ...text, text: '' }
  }
  if (content.type === 'thought') return { type: 'thought', text: '' }
  return content.type === 'refusal' ? { ...content, text: '' } : content
}
const positionOf = ({ output_index: position }: Fields): number =>
  typeof position === 'number' ? position : 0
const keyOf = ({ content_index: index }: Fields): string =>
  `${typeof index === 'number' ? index : 0}`

const begin = (decoder: Decoder, event: Fields): void =>
  decoder.begin(lenientObject(event, 'response'))
const end = (decoder: Decoder, event: Fields): void => decoder.end(lenientObject(event, 'response'))
const HANDLERS: Readonly<Record<string, (decoder: Decoder, event: Fields) => void>> = {
  'response.created': begin,
  'response.queued': begin,
  'response.in_progress': begin,
  'response.output_item.added': (decoder, event) => decoder.announce(event),
  'response.output_text.delta': (decoder, event) => decoder.grow(event, 'text', keyOf(event)),
  'response.refusal.delta': (decoder, event) => decoder.grow(event, 'refusal', keyOf(event)),
  'response.reasoning_summary_part.added': (decoder, event) => decoder.separateParts(event),
  'response.reasoning_summary_text.delta': (decoder, event) =>
    decoder.grow(event, 'thought', THOUGHT),
  'response.reasoning_text.delta': (decoder, event) => decoder.grow(event, 'thought', THOUGHT),
  'response.function_call_arguments.delta': (decoder, event) => decoder.grow(event, 'call', INPUT),
  'response.custom_tool_call_input.delta': (decoder, event) => decoder.grow(event, 'call', INPUT),
  'response.output_text.annotation.added': (decoder, event) => decoder.cite(event),
  'response.output_item.done': (decoder, event) =>
    decoder.finishItem(lenientObject(event, 'item'), positionOf(event)),
  'response.completed': end,
  'response.incomplete': end,
  'response.failed': end,
  'response.cancelled': end,
}
