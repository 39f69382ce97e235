/** One guard in one realtime session: events of the client before they are sent, and texts of the
 *  upstream, of which only what may be the start of a match is held back. */
import type { Fault, Message } from '../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import type { Part } from '../formats/hub/answer.ts'
import type { ChangePart } from '../formats/hub/slots.ts'
import {
  changeMatches,
  type Replace,
  replaceMatches,
  type TextFinder,
} from '../formats/hub/text.ts'
import type { Placeholders } from './placeholders.ts'
import {
  completedBlockOf,
  type Delta,
  deltaOf,
  isInput,
  isOfResponse,
  mapEventTexts,
  textsOfEvent,
} from './realtime-events.ts'
import type { Side } from './section.ts'

type Send = (message: Message) => void

export interface SessionRules {
  /** Undefined: nothing is searched there. */
  finderOf(side: Side): TextFinder | undefined
  /** Whether texts may change. */
  readonly changes: boolean
  /** Of the texts that become the originals again; undefined: none do. */
  readonly placeholders: Placeholders | undefined
  /** Notes a match; returns what is in its place, or throws. */
  act(side: Side): Replace
  /** Resolves to what replaces the client's texts; undefined: they stay. Rejects if they must not
   *  be sent. */
  decide(texts: ReadonlySet<string>): Promise<((text: string) => string) | undefined>
  unreadable(): Fault
}
interface Block {
  readonly push: (part: Part) => string
  /** The last event of it: the rest is sent as another one. */
  event: Fields
}
const BLOCK = { index: 0, choice: 0 } as const

export class RealtimeSession {
  readonly #rules: SessionRules
  readonly #blocks = new Map<string, Block>()
  constructor(rules: SessionRules) {
    this.#rules = rules
  }
  /** The message as the upstream may get it. Rejects with the refusal. */
  async onClient(message: Message): Promise<Message> {
    const { placeholders, changes } = this.#rules
    const finder = this.#rules.finderOf('request')
    const event = parseJson(Buffer.from(message.payload).toString())
    if (!isFields(event)) throw this.#rules.unreadable()
    placeholders?.freeze(false)
    placeholders?.reserve(textsOfEvent(event))
    const act = this.#rules.act('request')
    const searched = finder
      ? mapEventTexts(event, text => replaceMatches(text, finder, act))
      : event
    const replace = await this.#rules.decide(textsOfEvent(searched))
    const decided = replace ? mapEventTexts(searched, replace) : searched
    // Written again, so that a member that is there twice has one meaning for both sides.
    return messageOf(message, changes ? decided : event)
  }
  /** Sends what the client gets in place of an upstream's message. Throws the refusal. */
  onUpstream(message: Message, out: Send): void {
    const event = message.text ? parseJson(Buffer.from(message.payload).toString()) : undefined
    if (!isFields(event)) return out(message)
    this.#rules.placeholders?.freeze()
    const delta = deltaOf(event)
    if (delta) return this.#onDelta(delta, event, message, out)
    for (const block of this.#completedBy(event)) this.#finish(block, message, out)
    const changed = mapEventTexts(event, text => this.#mapWhole(text, event))
    const isSame = JSON.stringify(changed) === JSON.stringify(event)
    out(isSame ? message : messageOf(message, changed))
  }
  #onDelta(delta: Delta, event: Fields, message: Message, out: Send): void {
    const block = this.#blocks.get(delta.block) ?? this.#open(delta, event)
    block.event = event
    const text = block.push({ type: 'grow', index: BLOCK.index, text: delta.text })
    if (!this.#isChanging) return out(message)
    if (text === delta.text) return out(message)
    if (text !== '') out(messageOf(message, withDelta(event, text)))
  }
  /** The names of the texts that an event completes. */
  #completedBy(event: Fields): readonly string[] {
    if (event.type !== 'response.done') return [completedBlockOf(event)]
    return [...this.#blocks].flatMap(([name, block]) =>
      isOfResponse(block.event, event) ? [name] : [],
    )
  }
  /** Sends the rest of a text. */
  #finish(name: string, message: Message, out: Send): void {
    const block = this.#blocks.get(name)
    if (!block) return
    this.#blocks.delete(name)
    const rest = block.push({ type: 'close', index: BLOCK.index })
    if (rest !== '' && this.#isChanging) out(messageOf(message, withDelta(block.event, rest)))
  }
  get #isChanging(): boolean {
    return this.#rules.changes || this.#rules.placeholders !== undefined
  }
  #open({ block: name, isArguments, isInput: isOfClient }: Delta, event: Fields): Block {
    const steps = this.#stepsFor(isOfClient ? 'request' : 'answer')
    let text = ''
    const collect = (part: Part): void => {
      if (part.type === 'grow') text += part.text
    }
    const send = steps.reduceRight<(part: Part) => void>(
      (next, step) => part => step(part, next),
      collect,
    )
    const push = (part: Part): string => {
      text = ''
      send(part)
      return text
    }
    push({
      type: 'open',
      ...BLOCK,
      content: isArguments
        ? { type: 'call', id: name, name: '', input: '' }
        : { type: 'text', text: '' },
    })
    const block = { push, event }
    this.#blocks.set(name, block)
    return block
  }
  #stepsFor(side: Side): readonly ChangePart[] {
    const { placeholders } = this.#rules
    const finder = this.#rules.finderOf(side)
    return [
      ...(finder ? [changeMatches(finder, this.#rules.act(side))] : []),
      ...(placeholders
        ? [changeMatches(placeholders.finder, text => placeholders.original(text))]
        : []),
    ]
  }
  /** A text that is complete: most repeat what came in pieces. */
  #mapWhole(text: string, event: Fields): string {
    const { placeholders, changes } = this.#rules
    const isOfClient = isInput(event)
    // Messages of the client were searched when it sent them; transcripts of its speech were not.
    const isKnown = isOfClient && event.item !== undefined
    const side = isOfClient ? 'request' : 'answer'
    const finder = isKnown ? undefined : this.#rules.finderOf(side)
    const searched = finder ? replaceMatches(text, finder, this.#rules.act(side)) : text
    const own = changes ? searched : text
    return placeholders
      ? replaceMatches(own, placeholders.finder, each => placeholders.original(each))
      : own
  }
}

const messageOf = (message: Message, event: Fields): Message => ({
  ...message,
  payload: Buffer.from(JSON.stringify(event)),
})
/** Log probabilities repeat the text. */
const withDelta = ({ logprobs, ...event }: Fields, delta: string): Fields => ({ ...event, delta })
