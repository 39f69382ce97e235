/** Turns in the order this format takes: system first, sides alternating, results before all else. */
import type { Loss, TargetFacts } from '../codec.ts'
import type { Content, Media } from '../content.ts'
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { Turn } from '../hub.ts'
import { textBlock, writeBlock } from './write-content.ts'

export interface Written {
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
  loss: Loss,
): Written => {
  const start = turns.findIndex(({ role }) => role !== 'system')
  const leading = start < 0 ? turns : turns.slice(0, start)
  const system = leading.flatMap(turn => systemBlocks(turn, loss))
  // A prompt that is nothing but instructions is asked as a question.
  if (start < 0) return { system: [], messages: [{ role: 'user', content: system }] }
  const script = new Script(target.traits.system_turns === true, loss)
  for (const turn of turns.slice(start)) script.add(turn)
  return { system, messages: script.messages(mayPrefill) }
}

const systemBlocks = ({ content }: Turn, loss: Loss): readonly Fields[] =>
  content.flatMap(each => {
    if (each.type !== 'media') return writeBlock(each, loss)
    const { at = 'messages', kind } = each
    throw fault('CONTENT_UNSUPPORTED', [at, `${kind} in a system prompt`], { param: at })
  })

class Script {
  readonly #messages: Message[] = []
  readonly #systemTurns: boolean
  readonly #loss: Loss
  /** What the model showed: only the other side may show it again. */
  #shown: Fields[] = []

  constructor(systemTurns: boolean, loss: Loss) {
    this.#systemTurns = systemTurns
    this.#loss = loss
  }
  add(turn: Turn): void {
    if (turn.name !== undefined) this.#loss.drop('name')
    if (turn.role === 'system') return this.#instruct(turn)
    if (turn.role === 'user') return this.#put('user', this.#ask(turn.content))
    const media = turn.content.filter((each): each is Media => each.type === 'media')
    const rest = turn.content.filter(({ type }) => type !== 'media' && type !== 'result')
    this.#put('assistant', this.#blocks(rest))
    this.#shown.push(...this.#blocks(media))
  }
  messages(mayPrefill: boolean): readonly Fields[] {
    if (this.#shown.length > 0) this.#put('user', this.#ask([]))
    const messages = this.#messages
    if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [textBlock('.')] })
    this.#prefill(mayPrefill)
    return messages.map(({ role, content }) => ({ role, content }))
  }
  /** In mid-conversation: a turn of its own where the model knows that, else a word to the user's side. */
  #instruct(turn: Turn): void {
    const blocks = systemBlocks(turn, this.#loss)
    if (this.#systemTurns) return this.#put('system', blocks)
    this.#put('user', blocks.map(marked))
  }
  #ask(content: readonly Content[]): readonly Fields[] {
    const shown = this.#shown
    this.#shown = []
    return [...shown, ...this.#blocks(content.filter(({ type }) => type !== 'call'))]
  }
  #blocks(content: readonly Content[]): readonly Fields[] {
    return content.flatMap(each => writeBlock(each, this.#loss))
  }
  #put(role: Turn['role'], blocks: readonly Fields[]): void {
    if (blocks.length === 0) return
    const last = this.#messages.at(-1)
    if (last?.role !== role) this.#messages.push({ role, content: sorted(role, blocks) })
    else last.content.splice(0, Infinity, ...sorted(role, [...last.content, ...blocks]))
  }
  /** The start of an answer, given by the client: not every model goes on from it. */
  #prefill(may: boolean): void {
    const last = this.#messages.at(-1)
    const block = last?.content.at(-1)
    if (last?.role !== 'assistant' || block?.type !== 'text') return
    if (may) {
      const text = String(block.text).trimEnd()
      last.content.splice(-1, 1, ...(text === '' ? [] : [{ ...block, text }]))
      if (last.content.length === 0) this.#messages.pop()
      return
    }
    this.#loss.drop('prefill')
    this.#messages.push({ role: 'user', content: [textBlock('Continue.')] })
  }
}

/** Results stand before anything else the user says. */
const sorted = (role: Turn['role'], blocks: readonly Fields[]): Fields[] => {
  if (role !== 'user') return [...blocks]
  const isResult = ({ type }: Fields): boolean => type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter(block => !isResult(block))]
}
const marked = (block: Fields): Fields =>
  block.type === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block
