/** Reads the steps of an upstream's answer, whole or piece by piece, to blocks of the hub. */
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import { beginPart } from '../google/begin-part.ts'
import { Offsets } from '../google/offsets.ts'
import { GOOGLE } from '../google/origin.ts'
import type { Part } from '../hub/answer.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { Content, HostedCall } from '../hub/content.ts'
import { citationsIn, mediaIn } from './content.ts'
import { finishedCall, resultCallId, startedCall } from './hosted-tools.ts'
import { stopOf } from './stops.ts'
import { metersOf } from './usage.ts'

type Emit = (part: Part) => void
/** A step that has begun. */
interface OpenStep {
  /** With the members of its deltas, for steps of hosted tools. */
  step: Fields
  /** The index of its open block. */
  block: number | undefined
  /** Of its text so far. */
  text: Offsets
}

export class StepReader {
  readonly #steps = new Map<number, OpenStep>()
  /** Hosted calls without a result so far. */
  readonly #hosted = new Map<string, HostedCall>()
  #blocks = 0
  #hasCalls = false
  #hasBegun = false

  begin(interaction: Fields, emit: Emit): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const [id, model, created, tier] = ['id', 'model', 'created', 'service_tier'].map(name =>
      lenientText(interaction, name),
    )
    emit(beginPart({ id, model, created, tier }))
  }
  start(index: number, step: Fields, emit: Emit): void {
    const open: OpenStep = { step, block: undefined, text: new Offsets() }
    this.#steps.set(index, open)
    if (step.type === 'function_call') return this.#startCall(open, emit)
    for (const content of lenientObjects(step, 'content')) this.#addContent(open, content, emit)
    for (const content of lenientObjects(step, 'summary')) this.#addSummary(open, content, emit)
    if (typeof step.signature === 'string') this.#sign(open, step.signature, emit)
  }
  delta(index: number, delta: Fields, emit: Emit): void {
    const open = this.#steps.get(index)
    if (!open) return
    const type = lenientText(delta, 'type')
    if (type === 'arguments_delta') this.#grow(open, lenientText(delta, 'arguments') ?? '', emit)
    else if (type === 'thought_summary')
      this.#addSummary(open, lenientObject(delta, 'content'), emit)
    else if (type === 'thought_signature')
      this.#sign(open, lenientText(delta, 'signature') ?? '', emit)
    else if (type === 'text_annotation_delta') this.#cite(open, delta, emit)
    else if (open.step.type === type) open.step = { ...open.step, ...delta }
    else this.#addContent(open, delta, emit)
  }
  stop(index: number, emit: Emit): void {
    const open = this.#steps.get(index)
    if (!open) return
    this.#steps.delete(index)
    const { step, text } = open
    if (step.type === 'function_call' && text.units === 0)
      this.#grow(open, JSON.stringify(lenientObject(step, 'arguments')), emit)
    this.#close(open, emit)
    this.#readHosted(step, emit)
  }
  /** `interaction`: as it is at the end. */
  finish(interaction: Fields, emit: Emit): void {
    for (const index of [...this.#steps.keys()]) this.stop(index, emit)
    for (const call of this.#hosted.values()) this.#emitWhole(call, emit)
    this.#hosted.clear()
    const { usage } = interaction
    if (isFields(usage)) emit({ type: 'count', meters: metersOf(usage) })
    emit({ type: 'stop', choice: 0, stop: stopOf(interaction, this.#hasCalls) })
    emit({ type: 'end' })
  }

  // ---------------------------------------------------------------- blocks

  #open(content: Content, emit: Emit): number {
    const index = this.#blocks++
    emit({ type: 'open', index, choice: 0, content })
    return index
  }
  #emitWhole(content: Content, emit: Emit): void {
    emit({ type: 'close', index: this.#open(content, emit) })
  }
  #close(open: OpenStep, emit: Emit): void {
    if (open.block !== undefined) emit({ type: 'close', index: open.block })
    open.block = undefined
    open.text = new Offsets()
  }
  #grow(open: OpenStep, text: string, emit: Emit): void {
    if (text === '' || open.block === undefined) return
    open.text.add(text)
    emit({ type: 'grow', index: open.block, text })
  }
  #startCall(open: OpenStep, emit: Emit): void {
    const [id, name] = ['id', 'name'].map(key => lenientText(open.step, key))
    const call = { type: 'call', id: decodeCallId(id || `call_${this.#blocks}`) } as const
    open.block = this.#open({ ...call, name: name ?? '', input: '' }, emit)
    this.#hasCalls = true
  }
  #addContent(open: OpenStep, content: Fields, emit: Emit): void {
    const media = mediaIn(content)
    if (media) {
      this.#close(open, emit)
      return this.#emitWhole(media, emit)
    }
    if (content.type !== 'text') return
    open.block ??= this.#open({ type: 'text', text: '' }, emit)
    this.#grow(open, lenientText(content, 'text') ?? '', emit)
    this.#cite(open, content, emit)
  }
  #cite({ block, text }: OpenStep, content: Fields, emit: Emit): void {
    if (block === undefined) return
    for (const citation of citationsIn(content, text))
      emit({ type: 'cite', index: block, citation })
  }
  #addSummary(open: OpenStep, content: Fields, emit: Emit): void {
    open.block ??= this.#open({ type: 'thought', text: '' }, emit)
    this.#grow(open, lenientText(content, 'text') ?? '', emit)
  }
  #sign(open: OpenStep, data: string, emit: Emit): void {
    if (open.step.type !== 'thought' || data === '') return
    open.block ??= this.#open({ type: 'thought', text: '' }, emit)
    emit({ type: 'payload', index: open.block, payload: { origin: GOOGLE, data } })
  }
  #readHosted(step: Fields, emit: Emit): void {
    const call = startedCall(step)
    if (call) return void this.#hosted.set(call.id, call)
    const id = resultCallId(step)
    if (id === undefined) return
    this.#emitWhole(finishedCall(step, this.#hosted.get(id)), emit)
    this.#hosted.delete(id)
  }
}
