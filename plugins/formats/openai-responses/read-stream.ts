/** Decodes an upstream's stream event by event. A late event completes an item and never repeats
 *  it. If an upstream omits the events between the first and the last, the last one is decoded. */
import type { Part } from '../answer.ts'
import type { StreamDecoder } from '../codec.ts'
import type { Call, Content, Seal } from '../content.ts'
import { type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'
import { fieldsOf } from '../format.ts'
import type { SseEvent } from '../sse.ts'
import { citationOf } from './citations.ts'
import { callOf, contentOf, isCall, phaseOf, spoken } from './item.ts'
import { NAME } from './name.ts'
import { factsOf } from './read-answer.ts'
import { stopOf } from './stops.ts'
import { metersOf } from './usage.ts'

type Emit = (part: Part) => void

/** An open block of the hub. */
interface Block {
  readonly index: number
  /** Characters of the text that were emitted. */
  sent: number
  cited: number
}
/** An item of the output. */
interface Item {
  type: string
  id: string
  phase: Seal | undefined
  readonly blocks: Map<string, Block>
  done: boolean
}

export const decodeStream = (): StreamDecoder => new Reading()

class Reading implements StreamDecoder {
  /** Items by their position in the output. */
  readonly #items = new Map<number, Item>()
  readonly #types = new Set<Content['type']>()
  #emit: Emit = () => undefined
  #blocks = 0
  #begun = false
  #ended = false

  event(event: SseEvent, emit: Emit): void {
    if (this.#ended) return
    const fields = fieldsOf(event)
    if (!fields) return
    this.#emit = emit
    HANDLERS[wordIn(fields, 'type') ?? event.name]?.(this, fields)
  }
  close(): boolean {
    return this.#ended
  }

  // -------------------------------------------------------------- handlers of events

  begin(response: Fields): void {
    if (this.#begun) return
    this.#begun = true
    this.#emit({ type: 'begin', ...factsOf(response) })
  }
  announce(event: Fields): void {
    const given = inner(event, 'item')
    const item = this.#item(placeOf(event), given)
    const { type } = given
    if (isCall(given)) {
      // Complete arguments are also sent by their own events.
      const call: Call = { ...callOf(given), input: '' }
      this.#open(item, INPUT, call)
    } else if (typeof type === 'string' && !LATE.has(type))
      for (const content of contentOf(given)) this.#open(item, WHOLE, content)
  }
  /** Appends to a text. */
  grow(event: Fields, kind: Content['type'], key: string): void {
    const item = this.#item(placeOf(event), {})
    const delta = wordIn(event, 'delta') ?? ''
    if (item.done || delta === '') return
    const block = item.blocks.get(key) ?? this.#text(item, kind, key)
    if (!block) return
    const { logprobs } = event
    const told =
      Array.isArray(logprobs) && logprobs.length > 0
        ? { logprobs: { content: logprobs, refusal: null } }
        : {}
    block.sent += delta.length
    this.#emit({ type: 'grow', index: block.index, text: delta, ...told })
  }
  cite(event: Fields): void {
    const item = this.#item(placeOf(event), {})
    const { annotation } = event
    if (item.done || !isFields(annotation)) return
    const key = keyOf(event)
    const block = item.blocks.get(key) ?? this.#text(item, 'text', key)
    if (!block) return
    block.cited++
    this.#emit({ type: 'cite', index: block.index, citation: citationOf(annotation) })
  }
  /** Separates two parts of a summary. */
  paragraph(event: Fields): void {
    const block = this.#item(placeOf(event), {}).blocks.get(THOUGHT)
    if (!block || block.sent === 0 || event.summary_index === 0 || event.content_index === 0) return
    block.sent += PARAGRAPH.length
    this.#emit({ type: 'grow', index: block.index, text: PARAGRAPH })
  }
  settle(given: Fields, place: number): void {
    const item = this.#item(place, given)
    if (item.done) return
    item.done = true
    if (given.type === 'message') {
      itemsIn(given, 'content').forEach((part, index) => {
        this.#complete(item, `${index}`, spoken(part, given))
      })
    } else {
      const key = isCall(given) ? INPUT : given.type === 'reasoning' ? THOUGHT : WHOLE
      for (const content of contentOf(given)) this.#complete(item, key, content)
    }
    for (const { index } of item.blocks.values()) this.#emit({ type: 'close', index })
    item.blocks.clear()
  }
  end(response: Fields): void {
    this.begin(response)
    itemsIn(response, 'output').forEach((item, place) => {
      if (!this.#isDone(item, place)) this.settle(item, this.#placeOf(item, place))
    })
    for (const { blocks } of this.#items.values())
      for (const { index } of blocks.values()) this.#emit({ type: 'close', index })
    if (isFields(response.usage)) this.#emit({ type: 'count', meters: metersOf(response.usage) })
    this.#emit({ type: 'stop', choice: 0, stop: stopOf(response, this.#types) })
    this.#emit({ type: 'end' })
    this.#ended = true
  }

  // -------------------------------------------------------------- items and blocks

  /** Members of an item may arrive after its first event. */
  #item(place: number, given: Fields): Item {
    this.begin({})
    const item = this.#items.get(place) ?? {
      type: '',
      id: '',
      phase: undefined,
      blocks: new Map(),
      done: false,
    }
    item.type ||= wordIn(given, 'type') ?? ''
    item.id ||= wordIn(given, 'id') ?? ''
    item.phase ??= phaseOf(given)
    this.#items.set(place, item)
    return item
  }
  /** Some upstreams order the whole response differently from its events, or use other ids in
   *  it. */
  #isDone(given: Fields, place: number): boolean {
    const same = this.#items.get(place)
    if (same?.done && same.type === given.type) return true
    return [...this.#items.values()].some(({ done, id }) => done && id !== '' && id === given.id)
  }
  /** The position of the unfinished item with this id, or a new position. */
  #placeOf(given: Fields, place: number): number {
    for (const [at, { done, id }] of this.#items)
      if (!done && id !== '' && id === given.id) return at
    const same = this.#items.get(place)
    return same && (same.done || (same.type !== '' && same.type !== given.type))
      ? Math.max(...this.#items.keys()) + 1
      : place
  }
  #open(item: Item, key: string, content: Content): Block {
    const block = { index: this.#blocks++, sent: 0, cited: 0 }
    item.blocks.set(key, block)
    this.#types.add(content.type)
    this.#emit({ type: 'open', index: block.index, choice: 0, content })
    return block
  }
  /** Opens a text at its first delta. A call needs its id and name first. */
  #text(item: Item, kind: Content['type'], key: string): Block | undefined {
    const { phase: seal } = item
    if (kind === 'text')
      return this.#open(item, key, { type: kind, text: '', ...(seal && { seal }) })
    if (kind === 'refusal' || kind === 'thought')
      return this.#open(item, key, { type: kind, text: '' })
    return undefined
  }
  /** Emits what the whole item holds beyond its earlier events. */
  #complete(item: Item, key: string, content: Content | undefined): void {
    if (!content) return
    const known = item.blocks.get(key)
    if (content.type === 'work' || content.type === 'media') {
      const { index } = known ?? this.#open(item, key, content)
      this.#emit({ type: 'close', index, content })
      item.blocks.delete(key)
      return
    }
    const block = known ?? this.#open(item, key, bare(content))
    const text = content.type === 'call' ? content.input : 'text' in content ? content.text : ''
    if (text.length > block.sent)
      this.#emit({ type: 'grow', index: block.index, text: text.slice(block.sent) })
    if (content.type === 'text')
      for (const citation of content.citations?.slice(block.cited) ?? [])
        this.#emit({ type: 'cite', index: block.index, citation })
    if (content.type === 'thought' && content.seal?.origin === NAME)
      this.#emit({ type: 'seal', index: block.index, seal: content.seal })
  }
}

const PARAGRAPH = '\n\n'
const INPUT = 'input'
const THOUGHT = 'thought'
const WHOLE = 'whole'
/** Items that open at their first delta or once they are complete. */
const LATE: ReadonlySet<string> = new Set(['message', 'reasoning', 'image_generation_call'])

/** The content as it opens, without its text. */
const bare = (content: Content): Content => {
  if (content.type === 'call') return { ...content, input: '' }
  if (content.type === 'text') {
    const { citations: _, ...text } = content
    return { ...text, text: '' }
  }
  if (content.type === 'thought') return { type: 'thought', text: '' }
  return content.type === 'refusal' ? { ...content, text: '' } : content
}
const placeOf = ({ output_index: place }: Fields): number => (typeof place === 'number' ? place : 0)
const keyOf = ({ content_index: index }: Fields): string =>
  `${typeof index === 'number' ? index : 0}`

const begin = (reading: Reading, event: Fields): void => reading.begin(inner(event, 'response'))
const end = (reading: Reading, event: Fields): void => reading.end(inner(event, 'response'))
const HANDLERS: Readonly<Record<string, (reading: Reading, event: Fields) => void>> = {
  'response.created': begin,
  'response.queued': begin,
  'response.in_progress': begin,
  'response.output_item.added': (reading, event) => reading.announce(event),
  'response.output_text.delta': (reading, event) => reading.grow(event, 'text', keyOf(event)),
  'response.refusal.delta': (reading, event) => reading.grow(event, 'refusal', keyOf(event)),
  'response.reasoning_summary_part.added': (reading, event) => reading.paragraph(event),
  'response.reasoning_summary_text.delta': (reading, event) =>
    reading.grow(event, 'thought', THOUGHT),
  'response.reasoning_text.delta': (reading, event) => reading.grow(event, 'thought', THOUGHT),
  'response.function_call_arguments.delta': (reading, event) => reading.grow(event, 'call', INPUT),
  'response.custom_tool_call_input.delta': (reading, event) => reading.grow(event, 'call', INPUT),
  'response.output_text.annotation.added': (reading, event) => reading.cite(event),
  'response.output_item.done': (reading, event) =>
    reading.settle(inner(event, 'item'), placeOf(event)),
  'response.completed': end,
  'response.incomplete': end,
  'response.failed': end,
  'response.cancelled': end,
}
