/** Decodes one candidate of an upstream's answer piece by piece to blocks of the hub. */
import type { Json } from '../../../engine/plugin.ts'
import type { Part } from '../answer.ts'
import type { Call, Content, Seal, Text, Thought, Work } from '../content.ts'
import { type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'
import { readLogprobs } from './logprobs.ts'
import { drawn } from './media.ts'
import { NAME, toolOf } from './name.ts'
import { Offsets } from './offsets.ts'
import { PartialArgs } from './partial-args.ts'
import { citationsIn, worksIn } from './read-grounding.ts'
import { saysReason, stopOf } from './stops.ts'
import { answered, begun, done } from './work.ts'

/** State that all candidates of an answer share. */
export interface Shared {
  readonly emit: (part: Part) => void
  /** Returns the next block index. */
  readonly index: () => number
  /** Makes an id that is unique in this answer. */
  readonly id: (kind: 'call' | 'work') => string
}
interface Open<T extends Content> {
  readonly index: number
  readonly content: T
}
interface Said extends Open<Text | Thought> {
  seal: Seal | undefined
  /** The start of the block in the candidate's whole text, in UTF-16 units. */
  readonly unit: number
}

export class CandidateReader {
  readonly #choice: number
  #shared: Shared
  readonly #text = new Offsets()
  #said: Said | undefined
  #call: (Open<Call> & { readonly args: PartialArgs }) | undefined
  readonly #works = new Map<string, Open<Work>>()
  /** Citations that were emitted. */
  readonly #cited = new Set<string>()
  /** Hosted tools whose calls were emitted from parts. */
  readonly #shown = new Set<string>()
  #grounding: Fields = {}
  #called = false
  #empty = true
  #stopped = false

  constructor(choice: number, shared: Shared) {
    this.#choice = choice
    this.#shared = shared
  }
  get stopped(): boolean {
    return this.#stopped
  }
  /** Decodes a piece of the candidate, or all of it. */
  take(candidate: Fields, shared: Shared): void {
    if (this.#stopped) return
    this.#shared = shared
    const logprobs = readLogprobs(candidate)
    for (const part of itemsIn(inner(candidate, 'content'), 'parts')) this.#part(part, logprobs)
    this.#ground(candidate)
    const { finishReason: reason } = candidate
    if (saysReason(reason)) this.stop(reason, wordIn(candidate, 'finishMessage'))
  }
  stop(raw: string | undefined, message?: string): void {
    if (this.#stopped) return
    this.#settle()
    this.#hush()
    const tools = worksIn(this.#grounding, () => this.#shared.id('work'))
    for (const work of tools) if (!this.#shown.has(work.tool)) this.#whole(work)
    this.#stopped = true
    const stop = stopOf(raw, message, { called: this.#called, empty: this.#empty })
    this.#shared.emit({ type: 'stop', choice: this.#choice, stop })
  }
  #part(part: Fields, logprobs: Json | undefined): void {
    const signature = wordIn(part, 'thoughtSignature')
    const seal = signature === undefined ? undefined : { origin: NAME, data: signature }
    if (isFields(part.functionCall)) return this.#functionCall(part.functionCall, seal)
    if (typeof part.text === 'string')
      return this.#speak(part.text, part.thought === true, seal, logprobs)
    if (this.#work(part)) return
    const media = part.thought === true ? undefined : drawn(part)
    if (media) this.#whole(seal ? { ...media, seal } : media)
    else if (seal) this.#speak('', false, seal)
  }

  // ---------------------------------------------------------------- text and thoughts

  #speak(text: string, thought: boolean, seal: Seal | undefined, logprobs?: Json): void {
    if (text === '' && !seal) return
    this.#settle()
    const type = thought ? 'thought' : 'text'
    if (this.#said && (this.#said.content.type !== type || this.#said.seal)) this.#hush()
    // A signature without text after content of another kind becomes a thought without text.
    const said = this.#said ?? this.#begin(text === '' ? 'thought' : type)
    if (text !== '') {
      const { index } = said
      if (said.content.type === 'text') this.#text.add(text)
      const grown = { type: 'grow', index, text } as const
      this.#shared.emit(logprobs === undefined ? grown : { ...grown, logprobs })
    }
    if (!seal) return
    if (said.content.type === 'thought')
      this.#shared.emit({ type: 'seal', index: said.index, seal })
    said.seal = seal
  }
  #begin(type: 'text' | 'thought'): Said {
    const content = { type, text: '' } satisfies Content
    this.#said = { index: this.#open(content), content, seal: undefined, unit: this.#text.units }
    return this.#said
  }
  /** A text's payload follows it in a thought without text: most clients have a field for payloads
   *  of thoughts only, and the payload arrives after the text was sent. */
  #hush(): void {
    const said = this.#said
    if (!said) return
    this.#said = undefined
    this.#shared.emit({ type: 'close', index: said.index })
    if (said.content.type !== 'text' || !said.seal) return
    const index = this.#open({ type: 'thought', text: '' })
    this.#shared.emit({ type: 'seal', index, seal: said.seal })
    this.#shared.emit({ type: 'close', index })
  }

  // ---------------------------------------------------------------- calls

  /** A whole call: `{name, args}`. In pieces: `{name, willContinue}`, `{partialArgs,
   *  willContinue}`…, `{}`; the last piece may be missing. */
  #functionCall(call: Fields, seal: Seal | undefined): void {
    const name = wordIn(call, 'name')
    if (name !== undefined) {
      this.#settle()
      this.#hush()
      const id = wordIn(call, 'id') || this.#shared.id('call')
      const content: Call = { type: 'call', id, ...toolOf(name), input: '', ...(seal && { seal }) }
      const args = new PartialArgs(inner(call, 'args'))
      this.#call = { index: this.#open(content), content, args }
      this.#called = true
    }
    if (!this.#call) return
    this.#call.args.take(call)
    if (call.willContinue !== true) this.#settle()
  }
  /** Closes the open call and the hosted calls without a result. */
  #settle(): void {
    if (this.#call) {
      const { index, args, content } = this.#call
      this.#call = undefined
      this.#shared.emit({ type: 'grow', index, text: content.free ? args.input : args.json })
      this.#shared.emit({ type: 'close', index })
    }
    for (const { index } of this.#works.values()) this.#shared.emit({ type: 'close', index })
    this.#works.clear()
  }

  // ---------------------------------------------------------------- hosted calls and media

  #work(part: Fields): boolean {
    const id = (): string => this.#shared.id('work')
    const work = begun(part, id)
    if (work) {
      this.#hush()
      this.#shown.add(work.tool)
      this.#works.set(work.id, { index: this.#open(work), content: work })
      return true
    }
    const open = this.#works.get(answered(part) ?? '') ?? [...this.#works.values()].at(-1)
    const whole = done(part, open?.content, id)
    if (!whole) return false
    this.#shown.add(whole.tool)
    if (!open) this.#whole(whole)
    else {
      this.#works.delete(open.content.id)
      this.#shared.emit({ type: 'close', index: open.index, content: whole })
    }
    return true
  }
  #whole(content: Content): void {
    this.#settle()
    this.#hush()
    this.#shared.emit({ type: 'close', index: this.#open(content) })
  }
  #open(content: Content): number {
    const index = this.#shared.index()
    this.#empty = false
    this.#shared.emit({ type: 'open', index, choice: this.#choice, content })
    return index
  }

  // ---------------------------------------------------------------- grounding

  /** Each piece may repeat all earlier citations; only new ones are emitted. */
  #ground(candidate: Fields): void {
    for (const key of ['groundingMetadata', 'urlContextMetadata']) {
      const value = candidate[key]
      if (isFields(value) && Object.keys(value).length > 0)
        this.#grounding = { ...this.#grounding, [key]: value }
    }
    for (const [citation, { start, end }] of citationsIn(candidate)) {
      const mark = JSON.stringify([citation, start, end])
      if (this.#cited.has(mark)) continue
      this.#cited.add(mark)
      const said = this.#said?.content.type === 'text' ? this.#said : this.#begin('text')
      const where =
        start === undefined || end === undefined ? undefined : this.#within(said, start, end)
      this.#shared.emit({ type: 'cite', index: said.index, citation: { ...citation, ...where } })
    }
  }
  /** Undefined for a span in a closed block: only the open block can be cited. */
  #within(
    { unit }: Said,
    start: number,
    end: number,
  ): { readonly start: number; readonly end: number } | undefined {
    const from = this.#text.unitAt(start)
    return from < unit ? undefined : { start: from - unit, end: this.#text.unitAt(end) - unit }
  }
}
