/** Arranges turns as this format requires: system texts apart, alternating roles, tool results
 *  before other content. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { Content } from '../hub/content.ts'
import type { Turn } from '../hub/prompt.ts'
import { fillLastTurn } from '../hub/turn-order.ts'
import { type BlockContext, writeBlocks } from './content.ts'

export interface MessageTurns {
  readonly system: readonly Fields[]
  readonly messages: readonly Fields[]
}
interface Message {
  readonly role: Turn['role']
  readonly content: Fields[]
}

/** `mayPrefill`: the request may end with the start of the answer. */
export const writeTurns = (
  turns: readonly Turn[],
  context: BlockContext,
  mayPrefill: boolean,
): MessageTurns => {
  const start = turns.findIndex(({ role }) => role !== 'system')
  const leading = start < 0 ? turns : turns.slice(0, start)
  const system = leading.flatMap(turn => systemBlocks(turn, context))
  // A prompt of system turns only is sent as a user message.
  if (start < 0) return { system: [], messages: [{ role: 'user', content: system as Json }] }
  const list = new MessageList(context)
  for (const turn of fillLastTurn(turns.slice(start))) list.add(turn)
  return { system, messages: list.messages(mayPrefill) }
}

const systemBlocks = ({ content }: Turn, context: BlockContext): readonly Fields[] => {
  const media = content.find(({ type }) => type === 'media')
  if (media?.type !== 'media') return writeBlocks(content, context)
  const { at = 'messages', kind } = media
  throw fault('CONTENT_UNSUPPORTED', [at, `${kind} in a system prompt`], { param: at })
}

class MessageList {
  readonly #messages: Message[] = []
  readonly #context: BlockContext
  /** Media that the model sent: only user messages can hold them. */
  #media: Fields[] = []

  constructor(context: BlockContext) {
    this.#context = context
  }
  add({ role, content, name }: Turn): void {
    if (name !== undefined) this.#context.dropped.add('name')
    if (role === 'system')
      this.#append('user', systemBlocks({ role, content }, this.#context).map(markAsSystem))
    else if (role === 'user') {
      this.#append('user', [...this.#media, ...this.#blocks(content)])
      this.#media = []
    } else {
      this.#append('assistant', this.#blocks(content.filter(({ type }) => type !== 'media')))
      this.#media.push(...this.#blocks(content.filter(({ type }) => type === 'media')))
    }
  }
  messages(mayPrefill: boolean): readonly Fields[] {
    this.#append('user', this.#media)
    const messages = this.#messages
    if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [{ text: '.' }] })
    this.#prefill(mayPrefill)
    for (const { content } of messages) if (isDocumentAlone(content)) content.push({ text: '.' })
    return messages.map(({ role, content }) => ({ role, content: resultsFirst(content) }))
  }
  #blocks(content: readonly Content[]): readonly Fields[] {
    return writeBlocks(content, this.#context)
  }
  #append(role: Turn['role'], blocks: readonly Fields[]): void {
    if (blocks.length === 0) return
    const last = this.#messages.at(-1)
    if (last?.role === role) for (const block of blocks) last.content.push(block)
    else this.#messages.push({ role, content: [...blocks] })
  }
  /** A prefilled start of the answer, which not every model supports. */
  #prefill(mayPrefill: boolean): void {
    const last = this.#messages.at(-1)
    const text = last?.content.at(-1)?.text
    if (last?.role !== 'assistant' || typeof text !== 'string') return
    if (mayPrefill) last.content.splice(-1, 1, { text: text.trimEnd() })
    else {
      this.#context.dropped.add('prefill')
      this.#messages.push({ role: 'user', content: [{ text: 'Continue.' }] })
    }
  }
}

/** The provider refuses a document without a text beside it. */
const isDocumentAlone = (blocks: readonly Fields[]): boolean =>
  blocks.some(({ document }) => document) && !blocks.some(({ text }) => text)
/** Tool results precede other content of a message; a cache point stays behind its block. */
const resultsFirst = (blocks: readonly Fields[]): Fields[] => {
  const groups: Fields[][] = []
  for (const block of blocks)
    if (block.cachePoint && groups.length > 0) groups.at(-1)?.push(block)
    else groups.push([block])
  const isResult = ([first]: readonly Fields[]): boolean => first?.toolResult !== undefined
  return [...groups.filter(isResult), ...groups.filter(group => !isResult(group))].flat()
}
const markAsSystem = (block: Fields): Fields =>
  typeof block.text === 'string' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block
