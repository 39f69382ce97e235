/** Decodes one candidate of an upstream's answer piece by piece to blocks of the hub. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../../fields.ts'
import { Offsets } from '../../google/offsets.ts'
import type { Part } from '../../hub/answer.ts'
import type { Call, Content, HostedCall, OpaquePayload, Text, Thought } from '../../hub/content.ts'
import { mediaOfPart } from '../content.ts'
import { completedCallId, finishedCall, startedCall } from '../hosted-tools.ts'
import { decodeToolName, NAME } from '../name.ts'
import { isReason, stopOf } from '../stops.ts'
import { citationsIn, hostedCallsIn } from './decode-grounding.ts'
import { readLogprobs } from './logprobs.ts'
import { PartialArguments } from './partial-args.ts'

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
  #state: AnswerState
  readonly #text = new Offsets()
  #openText: OpenText | undefined
  #call: (OpenBlock<Call> & { readonly args: PartialArguments }) | undefined
  readonly #hostedCalls = new Map<string, OpenBlock<HostedCall>>()
  /** Citations that were emitted. */
  readonly #citationKeys = new Set<string>()
  /** Hosted tools whose calls were emitted from parts. */
  readonly #emittedTools = new Set<string>()
  #grounding: Fields = {}
  #hasCalls = false
  #isEmpty = true
  /** The last finish reason, which need not be the end. */
  #reason: { readonly raw: string; readonly message: string | undefined } | undefined

  constructor(choice: number, state: AnswerState) {
    this.#choice = choice
    this.#state = state
  }
  get hasStopped(): boolean {
    return this.#reason !== undefined
  }
  /** Decodes a piece of the candidate, or all of it. */
  add(candidate: Fields, state: AnswerState): void {
    this.#state = state
    const logprobs = readLogprobs(candidate)
    this.#keepGrounding(candidate)
    for (const part of lenientObjects(lenientObject(candidate, 'content'), 'parts'))
      this.#readPart(part, logprobs)
    this.#readCitations(candidate)
    const { finishReason: reason } = candidate
    if (isReason(reason))
      this.#reason = { raw: reason, message: lenientText(candidate, 'finishMessage') }
  }
  finish(state: AnswerState): void {
    this.#state = state
    this.#closeCalls()
    this.#closeText()
    this.#emitGroundingCalls(() => true)
    const { raw, message } = this.#reason ?? {}
    const stop = stopOf(raw, message, { hasCalls: this.#hasCalls, isEmpty: this.#isEmpty })
    this.#state.emit({ type: 'stop', choice: this.#choice, stop })
  }
  #readPart(part: Fields, logprobs: Json | undefined): void {
    const signature = lenientText(part, 'thoughtSignature')
    const payload = signature === undefined ? undefined : { origin: NAME, data: signature }
    if (isFields(part.functionCall)) return this.#readFunctionCall(part.functionCall, payload)
    if (typeof part.text === 'string')
      return this.#addText(part.text, part.thought === true, payload, logprobs)
    if (this.#readHostedCall(part)) return
    const media = part.thought === true ? undefined : mediaOfPart(part)
    if (media) this.#emitWhole(payload ? { ...media, payload } : media)
    else if (payload) this.#addText('', false, payload)
  }

  // ---------------------------------------------------------------- text and thoughts

  #addText(
    text: string,
    isThought: boolean,
    payload: OpaquePayload | undefined,
    logprobs?: Json,
  ): void {
    if (text === '' && !payload) return
    this.#closeCalls()
    const type = isThought ? 'thought' : 'text'
    if (this.#openText && (this.#openText.content.type !== type || this.#openText.payload))
      this.#closeText()
    // A signature without text after content of another kind becomes a thought without text.
    const block = this.#openText ?? this.#openTextBlock(text === '' ? 'thought' : type)
    if (text !== '') {
      const { index } = block
      if (block.content.type === 'text') this.#text.add(text)
      const delta = { type: 'grow', index, text } as const
      this.#state.emit(logprobs === undefined ? delta : { ...delta, logprobs })
    }
    if (!payload) return
    if (block.content.type === 'thought')
      this.#state.emit({ type: 'payload', index: block.index, payload })
    block.payload = payload
  }
  #openTextBlock(type: 'text' | 'thought'): OpenText {
    // The model searched before it wrote.
    if (type === 'text' && this.#text.units === 0)
      this.#emitGroundingCalls(({ sources = [] }) => sources.length > 0)
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
    this.#state.emit({ type: 'close', index: block.index })
    if (block.content.type !== 'text' || !block.payload) return
    const index = this.#open({ type: 'thought', text: '' })
    this.#state.emit({ type: 'payload', index, payload: block.payload })
    this.#state.emit({ type: 'close', index })
  }

  // ---------------------------------------------------------------- calls

  /** A whole call: `{name, args}`. In pieces: `{name, willContinue}`, `{partialArgs,
   *  willContinue}`…, `{}`; the last piece may be missing. */
  #readFunctionCall(call: Fields, payload: OpaquePayload | undefined): void {
    const name = lenientText(call, 'name')
    if (name !== undefined) {
      this.#closeCalls()
      this.#closeText()
      const id = lenientText(call, 'id') || this.#state.newId('call')
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
      this.#state.emit({ type: 'grow', index, text: content.isFreeText ? args.input : args.json })
      this.#state.emit({ type: 'close', index })
    }
    for (const { index } of this.#hostedCalls.values()) this.#state.emit({ type: 'close', index })
    this.#hostedCalls.clear()
  }

  // ---------------------------------------------------------------- hosted calls and media

  #readHostedCall(part: Fields): boolean {
    const id = (): string => this.#state.newId('work')
    const startedHostedCall = startedCall(part, id)
    if (startedHostedCall) {
      this.#closeText()
      this.#emittedTools.add(startedHostedCall.tool)
      this.#hostedCalls.set(startedHostedCall.id, {
        index: this.#open(startedHostedCall),
        content: startedHostedCall,
      })
      return true
    }
    const openCall =
      this.#hostedCalls.get(completedCallId(part) ?? '') ?? [...this.#hostedCalls.values()].at(-1)
    const finishedHostedCall = finishedCall(part, openCall?.content, id)
    if (!finishedHostedCall) return false
    this.#emittedTools.add(finishedHostedCall.tool)
    if (!openCall) this.#emitWhole(finishedHostedCall)
    else {
      this.#hostedCalls.delete(openCall.content.id)
      this.#state.emit({ type: 'close', index: openCall.index, content: finishedHostedCall })
    }
    return true
  }
  #emitWhole(content: Content): void {
    this.#closeCalls()
    this.#closeText()
    this.#state.emit({ type: 'close', index: this.#open(content) })
  }
  #open(content: Content): number {
    const index = this.#state.nextIndex()
    this.#isEmpty = false
    this.#state.emit({ type: 'open', index, choice: this.#choice, content })
    return index
  }

  // ---------------------------------------------------------------- grounding

  #keepGrounding(candidate: Fields): void {
    for (const key of ['groundingMetadata', 'urlContextMetadata']) {
      const value = candidate[key]
      if (isFields(value) && Object.keys(value).length > 0)
        this.#grounding = { ...this.#grounding, [key]: value }
    }
  }
  /** Emits the calls that only the grounding names, each tool once. `isReady`: whether the call is
   *  known well enough. */
  #emitGroundingCalls(isReady: (call: HostedCall) => boolean): void {
    const calls = hostedCallsIn(this.#grounding, () => this.#state.newId('work'))
    const ready = calls.filter(call => !this.#emittedTools.has(call.tool) && isReady(call))
    for (const call of ready) this.#emitWhole(call)
    for (const { tool } of ready) this.#emittedTools.add(tool)
  }
  /** Each piece may repeat all earlier citations; only new ones are emitted. */
  #readCitations(candidate: Fields): void {
    for (const [citation, { start, end }] of citationsIn(candidate)) {
      const key = JSON.stringify([citation, start, end])
      if (this.#citationKeys.has(key)) continue
      this.#citationKeys.add(key)
      const block =
        this.#openText?.content.type === 'text' ? this.#openText : this.#openTextBlock('text')
      const span =
        start === undefined || end === undefined ? undefined : this.#spanIn(block, start, end)
      this.#state.emit({ type: 'cite', index: block.index, citation: { ...citation, ...span } })
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
