/** Arranges turns as this format requires: system first, alternating roles, tool results before
 *  other content. */
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Content, Media } from '../hub/content.ts'
import type { Turn } from '../hub/prompt.ts'
import { fillLastTurn } from '../hub/turn-order.ts'
import { textBlock, writeBlock } from './encode-content.ts'

export interface MessageTurns {
  readonly system: readonly Fields[]
  readonly messages: readonly Fields[]
}
interface Message {
  readonly role: Turn['role']
  readonly content: Fields[]
}

export const writeTurns = (
  turns: readonly Turn[],
  target: TargetFacts,
  mayPrefill: boolean,
  dropped: DroppedFields,
): MessageTurns => {
  const start = turns.findIndex(({ role }) => role !== 'system')
  const leading = start < 0 ? turns : turns.slice(0, start)
  const system = leading.flatMap(turn => systemBlocks(turn, dropped))
  // A prompt of system turns only is sent as a user message.
  if (start < 0) return { system: [], messages: [{ role: 'user', content: system }] }
  const messageList = new MessageList(target.traits.system_turns === true, dropped)
  for (const turn of fillLastTurn(turns.slice(start))) messageList.add(turn)
  return { system, messages: messageList.messages(mayPrefill) }
}

const systemBlocks = ({ content }: Turn, dropped: DroppedFields): readonly Fields[] =>
  content.flatMap(each => {
    if (each.type !== 'media') return writeBlock(each, dropped)
    const { at = 'messages', kind } = each
    throw fault('CONTENT_UNSUPPORTED', [at, `${kind} in a system prompt`], { param: at })
  })

class MessageList {
  readonly #messages: Message[] = []
  readonly #systemTurns: boolean
  readonly #dropped: DroppedFields
  /** Media that the model sent: only user messages can hold them. */
  #media: Fields[] = []
  /** Blocks of system turns that wait for the end of a user message. */
  #system: Fields[] = []

  constructor(systemTurns: boolean, dropped: DroppedFields) {
    this.#systemTurns = systemTurns
    this.#dropped = dropped
  }
  add(turn: Turn): void {
    if (turn.name !== undefined) this.#dropped.add('name')
    if (turn.role === 'system') return this.#addSystem(turn)
    if (turn.role === 'user') return this.#append('user', this.#userBlocks(turn.content))
    const media = turn.content.filter((each): each is Media => each.type === 'media')
    const rest = turn.content.filter(({ type }) => type !== 'media' && type !== 'result')
    this.#append('assistant', this.#blocks(rest))
    this.#media.push(...this.#blocks(media))
  }
  messages(mayPrefill: boolean): readonly Fields[] {
    if (this.#media.length > 0) this.#append('user', this.#userBlocks([]))
    this.#writeSystem()
    const messages = this.#messages
    if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [textBlock('.')] })
    this.#prefill(mayPrefill)
    return messages.map(({ role, content }) => ({ role, content: resultsFirst(role, content) }))
  }
  /** A system turn in mid-conversation: a turn of its own if the model supports it, else marked
   *  text in a user message. */
  #addSystem(turn: Turn): void {
    const blocks = systemBlocks(turn, this.#dropped)
    if (this.#systemTurns) this.#system.push(...blocks)
    else this.#append('user', blocks.map(markAsSystem))
  }
  /** The provider takes a system turn only behind a user turn, and last or before an assistant
   *  turn. */
  #writeSystem(): void {
    const blocks = this.#system
    this.#system = []
    if (this.#messages.at(-1)?.role === 'user') this.#append('system', blocks)
    else this.#append('user', blocks.map(markAsSystem))
  }
  #userBlocks(content: readonly Content[]): readonly Fields[] {
    const media = this.#media
    this.#media = []
    return [...media, ...this.#blocks(content.filter(({ type }) => type !== 'call'))]
  }
  #blocks(content: readonly Content[]): readonly Fields[] {
    return content.flatMap(each => writeBlock(each, this.#dropped))
  }
  #append(role: Turn['role'], blocks: readonly Fields[]): void {
    if (blocks.length === 0) return
    if (role === 'assistant') this.#writeSystem()
    const last = this.#messages.at(-1)
    if (last?.role === role) for (const block of blocks) last.content.push(block)
    else this.#messages.push({ role, content: [...blocks] })
  }
  /** A prefilled start of the answer, which not every model supports. */
  #prefill(mayPrefill: boolean): void {
    const last = this.#messages.at(-1)
    const block = last?.content.at(-1)
    if (last?.role !== 'assistant' || block?.type !== 'text') return
    if (mayPrefill) {
      const text = String(block.text).trimEnd()
      last.content.splice(-1, 1, ...(text === '' ? [] : [{ ...block, text }]))
      if (last.content.length === 0) this.#messages.pop()
      return
    }
    this.#dropped.add('prefill')
    this.#messages.push({ role: 'user', content: [textBlock('Continue.')] })
  }
}

/** Tool results precede other content of a user message. */
const resultsFirst = (role: Turn['role'], blocks: readonly Fields[]): readonly Fields[] => {
  if (role !== 'user') return blocks
  const isResult = ({ type }: Fields): boolean => type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter(block => !isResult(block))]
}
const markAsSystem = (block: Fields): Fields =>
  block.type === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block
