/** Builds the output of an answer item by item from the hub's parts. An item is finished when the
 *  next one begins. */
import type { Fields } from '../../fields.ts'
import type { Part } from '../../hub/answer.ts'
import type { Call, Content, OpaquePayload } from '../../hub/content.ts'
import { NAME } from '../name.ts'
import { SEARCH } from '../tool-search.ts'
import {
  type Emit,
  type ItemWriter,
  mediaText,
  type Status,
  writeCall,
  writeHostedCall,
  writeImage,
  writeSearch,
  writeThought,
} from './item-writers.ts'
import { type Message, type MessagePart as TextPart, writeMessage } from './message.ts'

/** An unfinished item. */
interface Item {
  readonly index: number
  readonly writer: ItemWriter | Message
  /** The number of open blocks that write to this item. */
  openBlocks: number
}
/** An open block of the hub. */
interface Block {
  readonly item: Item
  readonly text?: TextPart
}
type BlockPart = Extract<Part, { readonly index: number }>

export class Output {
  readonly #id: string
  readonly #searches: boolean
  readonly #emit: Emit
  readonly #blocks = new Map<number, Block>()
  /** Items that were announced and are not finished. */
  readonly #items = new Set<Item>()
  /** Those of them that no open block writes to. */
  readonly #idle = new Set<Item>()
  readonly #finishedItems: Fields[] = []
  #itemCount = 0
  #message: Item | undefined
  /** Whether the answer contains a refusal. */
  hasRefusal = false

  /** `searches`: calls of `tool_search` are searches for tools, not calls of a function. */
  constructor(id: string, searches: boolean, emit: Emit) {
    this.#id = id
    this.#searches = searches
    this.#emit = emit
  }
  /** Finished items, in the order in which they began. */
  get items(): readonly Fields[] {
    return this.#finishedItems.filter(item => item !== undefined)
  }
  add(part: BlockPart): void {
    if (part.type === 'open') return this.#openBlock(part.index, part.content)
    const block = this.#blocks.get(part.index)
    if (!block) return
    const { item, text } = block
    const target = text ?? (item.writer as ItemWriter)
    if (part.type === 'grow') target.append(part.text, part.logprobs)
    else if (part.type === 'cite') text?.cite(part.citation)
    else if (part.type === 'payload') this.#addPayload(block, part.payload)
    else this.#close(part.index, block, part.content)
  }
  /** Adds a refusal that is in the stop reason and not in the content. */
  addRefusal(message: string | undefined): void {
    if (this.hasRefusal || !message) return
    const content = { type: 'refusal', text: message } as const
    this.add({ type: 'open', index: -1, choice: 0, content })
    this.add({ type: 'close', index: -1 })
  }
  /** Ends the output. */
  finish(status: Status): void {
    const last = [...this.#items].at(-1)
    for (const item of this.#items) this.#finish(item, item === last ? status : 'completed')
    this.#blocks.clear()
  }

  // -------------------------------------------------------------- blocks

  #openBlock(index: number, content: Content): void {
    const { payload } = content as { readonly payload?: OpaquePayload }
    if (payload && payload.kind === undefined && content.type !== 'thought') this.#carry(payload)
    if (content.type === 'text' || content.type === 'refusal') {
      const phase = payload?.origin === NAME && payload.kind === 'phase' ? payload.data : undefined
      this.#openText(index, content.type, phase)
      if (content.type === 'refusal') this.hasRefusal = true
      if (content.text !== '') this.#blocks.get(index)?.text?.append(content.text)
      return
    }
    const markdown = content.type === 'media' ? mediaText(content) : undefined
    if (markdown !== undefined) {
      this.#openText(index, 'text', undefined)
      this.#blocks.get(index)?.text?.append(markdown)
      return
    }
    this.#openItem(index, content)
  }
  #openItem(index: number, content: Content): void {
    this.#finishIdle()
    const position = { id: this.#id, index: this.#itemCount }
    const writer =
      this.#searches && isSearch(content)
        ? writeSearch(content, position)
        : WRITERS[content.type]?.(content, position, this.#emitterFor(position.index))
    if (!writer) return
    this.#message = undefined
    this.#blocks.set(index, { item: this.#announce(writer) })
    const initialText =
      content.type === 'call' ? content.input : 'text' in content ? content.text : ''
    if (initialText !== '') writer.append(initialText)
    writer.setContent(content)
  }
  #openText(index: number, kind: 'text' | 'refusal', phase: string | undefined): void {
    const message = this.#message
    if (!message || !this.#items.has(message) || (message.writer as Message).phase !== phase) {
      this.#finishIdle()
      const position = { id: this.#id, index: this.#itemCount }
      this.#message = this.#announce(
        writeMessage(phase, position, this.#emitterFor(position.index)),
      )
    } else this.#reopen(message)
    const item = this.#message as Item
    this.#blocks.set(index, { item, text: (item.writer as Message).part(kind) })
  }
  #close(index: number, { item, text }: Block, content: Content | undefined): void {
    if (content && !text) (item.writer as ItemWriter).setContent(content)
    text?.endBlock()
    this.#release(item)
    this.#blocks.delete(index)
  }
  #addPayload({ item, text }: Block, payload: OpaquePayload): void {
    if (!text && item.writer.item.type === 'reasoning')
      (item.writer as ItemWriter).setPayload(payload)
    else if (payload.kind === undefined) this.#carry(payload)
  }
  /** A payload without a field at its content becomes an empty thought. */
  #carry(payload: OpaquePayload): void {
    this.#finishIdle()
    const position = { id: this.#id, index: this.#itemCount }
    const emit = this.#emitterFor(position.index)
    const item = this.#announce(
      writeThought({ type: 'thought', text: '', payload }, position, emit),
    )
    this.#release(item)
    this.#message = undefined
    this.#finishIdle()
  }

  // -------------------------------------------------------------- items

  #announce(writer: ItemWriter | Message): Item {
    const item = { index: this.#itemCount++, writer, openBlocks: 1 }
    this.#items.add(item)
    const { item: initialItem } = writer
    this.#emit('response.output_item.added', { output_index: item.index, item: initialItem })
    return item
  }
  #reopen(item: Item): void {
    item.openBlocks++
    this.#idle.delete(item)
  }
  #release(item: Item): void {
    item.openBlocks--
    if (item.openBlocks <= 0 && this.#items.has(item)) this.#idle.add(item)
  }
  /** Finishes items that no open block writes to, in the order in which they began. */
  #finishIdle(): void {
    const idle = [...this.#idle].sort((first, second) => first.index - second.index)
    for (const item of idle) this.#finish(item, 'completed')
  }
  #finish(item: Item, status: Status): void {
    this.#items.delete(item)
    this.#idle.delete(item)
    const finalItem = item.writer.finish(status)
    this.#finishedItems[item.index] = finalItem
    this.#emit('response.output_item.done', { output_index: item.index, item: finalItem })
  }
  #emitterFor(output_index: number): Emit {
    return (type, members) => this.#emit(type, { output_index, ...members })
  }
}

type Writer = (
  content: Content,
  position: { readonly id: string; readonly index: number },
  emit: Emit,
) => ItemWriter | undefined
const isSearch = (content: Content): content is Call =>
  content.type === 'call' && content.name === SEARCH && content.namespace === undefined
const WRITERS: Readonly<Partial<Record<Content['type'], Writer>>> = {
  thought: (content, ...more) =>
    content.type === 'thought' ? writeThought(content, ...more) : undefined,
  call: (content, ...more) => (content.type === 'call' ? writeCall(content, ...more) : undefined),
  hostedCall: (content, ...more) =>
    content.type === 'hostedCall' ? writeHostedCall(content, ...more) : undefined,
  media: (content, ...more) =>
    content.type === 'media' ? writeImage(content, ...more) : undefined,
}
