/** Decodes one candidate of an upstream's answer piece by piece to blocks of the hub. */
import type { Json } from '../../../engine/plugin.ts'
import type { Part } from '../answer.ts'
import type { Call, Content, HostedCall, OpaquePayload, Text, Thought } from '../content.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import { completedCallId, finishedCall, startedCall } from './hosted-call.ts'
import { readLogprobs } from './logprobs.ts'
import { mediaOfPart } from './media.ts'
import { decodeToolName, NAME } from './name.ts'
import { Offsets } from './offsets.ts'
import { PartialArguments } from './partial-args.ts'
import { citationsIn, hostedCallsIn } from './read-grounding.ts'
import { isReason, stopOf } from './stops.ts'

/** State that all candidates of an answer share. */
export interface AnswerState {
  readonly emit: (part: Part) => void
  /** Returns the next block index. */
  readonly nextIndex: () => number
  /** Makes an id that is unique in this answer. */
  readonly newId: (kind: 'call' | 'work') => string
}
interface OpenBlock<T extends Content> {
  readonly index: number
  readonly content: T
}
interface OpenText extends OpenBlock<Text | Thought> {
  payload: OpaquePayload | undefined
  /** The start of the block in the candidate's whole text, in UTF-16 units. */
  readonly unit: number
}

export class CandidateReader {
  readonly #choice: number
  #shared: AnswerState
  readonly #text = new Offsets()
  #openText: OpenText | undefined
  #call: (OpenBlock<Call> & { readonly args: PartialArguments }) | undefined
  readonly #works = new Map<string, OpenBlock<HostedCall>>()
  /** Citations that were emitted. */
  readonly #citationKeys = new Set<string>()
  /** Hosted tools whose calls were emitted from parts. */
  readonly #emittedTools = new Set<string>()
  #grounding: Fields = {}
  #hasCalls = false
  #empty = true
  #hasStopped = false

  constructor(choice: number, shared: AnswerState) {
    this.#choice = choice
    this.#shared = shared
  }
  get hasStopped(): boolean {
    return this.#hasStopped
  }
  /** Decodes a piece of the candidate, or all of it. */
  add(candidate: Fields, shared: AnswerState): void {
    if (this.#hasStopped) return
    this.#shared = shared
    const logprobs = readLogprobs(candidate)
    for (const part of lenientObjects(lenientObject(candidate, 'content'), 'parts'))
      this.#part(part, logprobs)
    this.#ground(candidate)
    const { finishReason: reason } = candidate
    if (isReason(reason)) this.finish(reason, lenientText(candidate, 'finishMessage'))
  }
  finish(raw: string | undefined, message?: string): void {
    if (this.#hasStopped) return
    this.#closeCalls()
    this.#closeText()
    const tools = hostedCallsIn(this.#grounding, () => this.#shared.newId('work'))
    for (const work of tools) if (!this.#emittedTools.has(work.tool)) this.#emitWhole(work)
    this.#hasStopped = true
    const stop = stopOf(raw, message, { called: this.#hasCalls, empty: this.#empty })
    this.#shared.emit({ type: 'stop', choice: this.#choice, stop })
  }
  #part(part: Fields, logprobs: Json | undefined): void {
    const signature = lenientText(part, 'thoughtSignature')
    const payload = signature === undefined ? undefined : { origin: NAME, data: signature }
    if (isFields(part.functionCall)) return this.#functionCall(part.functionCall, payload)
    if (typeof part.text === 'string')
      return this.#addText(part.text, part.thought === true, payload, logprobs)
    if (this.#work(part)) return
    const media = part.thought === true ? undefined : mediaOfPart(part)
    if (media) this.#emitWhole(payload ? { ...media, payload } : media)
    else if (payload) this.#addText('', false, payload)
  }

  // ---------------------------------------------------------------- text and thoughts

  #addText(
    text: string,
    thought: boolean,
    payload: OpaquePayload | undefined,
    logprobs?: Json,
  ): void {
    if (text === '' && !payload) return
    this.#closeCalls()
    const type = thought ? 'thought' : 'text'
    if (this.#openText && (this.#openText.content.type !== type || this.#openText.payload))
      this.#closeText()
    // A signature without text after content of another kind becomes a thought without text.
    const block = this.#openText ?? this.#openTextBlock(text === '' ? 'thought' : type)
    if (text !== '') {
      const { index } = block
      if (block.content.type === 'text') this.#text.add(text)
      const delta = { type: 'grow', index, text } as const
      this.#shared.emit(logprobs === undefined ? delta : { ...delta, logprobs })
    }
    if (!payload) return
    if (block.content.type === 'thought')
      this.#shared.emit({ type: 'payload', index: block.index, payload })
    block.payload = payload
  }
  #openTextBlock(type: 'text' | 'thought'): OpenText {
    const content = { type, text: '' } satisfies Content
    this.#openText = {
      index: this.#open(content),
      content,
      payload: undefined,
      unit: this.#text.units,
    }
    return this.#openText
  }
  /** A text's payload follows it in a thought without text: most clients have a field for payloads
   *  of thoughts only, and the payload arrives after the text was sent. */
  #closeText(): void {
    const block = this.#openText
    if (!block) return
    this.#openText = undefined
    this.#shared.emit({ type: 'close', index: block.index })
    if (block.content.type !== 'text' || !block.payload) return
    const index = this.#open({ type: 'thought', text: '' })
    this.#shared.emit({ type: 'payload', index, payload: block.payload })
    this.#shared.emit({ type: 'close', index })
  }

  // ---------------------------------------------------------------- calls

  /** A whole call: `{name, args}`. In pieces: `{name, willContinue}`, `{partialArgs,
   *  willContinue}`…, `{}`; the last piece may be missing. */
  #functionCall(call: Fields, payload: OpaquePayload | undefined): void {
    const name = lenientText(call, 'name')
    if (name !== undefined) {
      this.#closeCalls()
      this.#closeText()
      const id = lenientText(call, 'id') || this.#shared.newId('call')
      const content: Call = {
        type: 'call',
        id,
        ...decodeToolName(name),
        input: '',
        ...(payload && { payload }),
      }
      const args = new PartialArguments(lenientObject(call, 'args'))
      this.#call = { index: this.#open(content), content, args }
      this.#hasCalls = true
    }
    if (!this.#call) return
    this.#call.args.add(call)
    if (call.willContinue !== true) this.#closeCalls()
  }
  /** Closes the open call and the hosted calls without a result. */
  #closeCalls(): void {
    if (this.#call) {
      const { index, args, content } = this.#call
      this.#call = undefined
      this.#shared.emit({ type: 'grow', index, text: content.isFreeText ? args.input : args.json })
      this.#shared.emit({ type: 'close', index })
    }
    for (const { index } of this.#works.values()) this.#shared.emit({ type: 'close', index })
    this.#works.clear()
  }

  // ---------------------------------------------------------------- hosted calls and media

  #work(part: Fields): boolean {
    const id = (): string => this.#shared.newId('work')
    const work = startedCall(part, id)
    if (work) {
      this.#closeText()
      this.#emittedTools.add(work.tool)
      this.#works.set(work.id, { index: this.#open(work), content: work })
      return true
    }
    const openCall =
      this.#works.get(completedCallId(part) ?? '') ?? [...this.#works.values()].at(-1)
    const call = finishedCall(part, openCall?.content, id)
    if (!call) return false
    this.#emittedTools.add(call.tool)
    if (!openCall) this.#emitWhole(call)
    else {
      this.#works.delete(openCall.content.id)
      this.#shared.emit({ type: 'close', index: openCall.index, content: call })
    }
    return true
  }
  #emitWhole(content: Content): void {
    this.#closeCalls()
    this.#closeText()
    this.#shared.emit({ type: 'close', index: this.#open(content) })
  }
  #open(content: Content): number {
    const index = this.#shared.nextIndex()
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
      if (this.#citationKeys.has(mark)) continue
      this.#citationKeys.add(mark)
      const block =
        this.#openText?.content.type === 'text' ? this.#openText : this.#openTextBlock('text')
      const span =
        start === undefined || end === undefined ? undefined : this.#spanIn(block, start, end)
      this.#shared.emit({ type: 'cite', index: block.index, citation: { ...citation, ...span } })
    }
  }
  /** Undefined for a span in a closed block: only the open block can be cited. */
  #spanIn(
    { unit }: OpenText,
    start: number,
    end: number,
  ): { readonly start: number; readonly end: number } | undefined {
    const startUnit = this.#text.unitAt(start)
    return startUnit < unit
      ? undefined
      : { start: startUnit - unit, end: this.#text.unitAt(end) - unit }
  }
}
