/** Decodes an upstream's chat stream. This format marks no ends of blocks: a text or thought ends
 *  where a block of another kind begins; calls end at the finish reason, because their fragments
 *  may interleave. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  parseJson,
} from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { Content, Thought } from '../hub/content.ts'
import type { SseEvent } from '../stream/sse.ts'
import { readCallPayload, readContentList, readThoughts } from './reasoning.ts'
import { readCitation, readImages } from './response.ts'
import { stopOf } from './stops.ts'
import { countsIn, metersOf } from './usage.ts'

type Emit = (part: Part) => void

interface OpenCall {
  /** Empty: the upstream sent none. */
  readonly sentId: string
  name: string
  input: string
  /** Undefined until the name arrives. */
  index: number | undefined
}

export const decodeStream = (): StreamDecoder => {
  const choices = new Map<number, ChoiceReader>()
  let hasBegun = false
  let hasEnded = false
  let blockCount = 0
  const nextIndex = (): number => blockCount++

  const begin = (fields: Fields, emit: Emit): void => {
    if (hasBegun) return
    hasBegun = true
    const { id, model, created } = fields
    emit({
      type: 'begin',
      ...(typeof id === 'string' && { id }),
      ...(typeof model === 'string' && { model }),
      ...(typeof created === 'number' && created > 0 && { created }),
    })
  }
  const end = (emit: Emit): void => {
    for (const choice of choices.values()) choice.finish(null, emit)
    hasEnded = true
    emit({ type: 'end' })
  }
  return {
    push(event: SseEvent, emit: Emit): void {
      if (hasEnded) return
      if (event.data?.trim() === '[DONE]') return end(emit)
      const fields = eventFields(event)
      if (!fields) return
      begin(fields, emit)
      for (const chunk of lenientObjects(fields, 'choices')) {
        const number = typeof chunk.index === 'number' ? chunk.index : 0
        const choice = choices.get(number) ?? new ChoiceReader(number, nextIndex)
        choices.set(number, choice)
        choice.read(chunk, emit)
      }
      const counts = countsIn(fields)
      if (counts) emit({ type: 'count', meters: metersOf(counts) })
    },
    close(emit: Emit): boolean {
      if (hasEnded) return true
      const isComplete =
        choices.size > 0 && [...choices.values()].every(({ hasStopped }) => hasStopped)
      if (isComplete) end(emit)
      return isComplete
    },
  }
}

class ChoiceReader {
  readonly #number: number
  readonly #nextIndex: () => number
  readonly #calls: OpenCall[] = []
  /** The upstream's index -> its latest call. */
  readonly #callsByIndex = new Map<number, OpenCall>()
  /** The open text, thought or refusal. */
  #openBlock: { readonly type: 'text' | 'thought' | 'refusal'; readonly index: number } | undefined
  #hasCalls = false
  hasStopped = false

  constructor(number: number, nextIndex: () => number) {
    this.#number = number
    this.#nextIndex = nextIndex
  }
  read(chunk: Fields, emit: Emit): void {
    if (this.hasStopped) return
    const delta = lenientObject(chunk, 'delta')
    const logprobs = isFields(chunk.logprobs) ? chunk.logprobs : undefined
    this.#readThoughts(readThoughts(delta), emit)
    for (const part of readContentList(delta))
      if (part.type === 'thought') this.#readThoughts([part], emit)
      else this.#grow('text', part.text, emit, logprobs)
    this.#grow('text', lenientText(delta, 'content'), emit, logprobs)
    this.#grow('refusal', lenientText(delta, 'refusal'), emit)
    for (const annotation of lenientObjects(delta, 'annotations'))
      for (const citation of readCitation(annotation))
        emit({ type: 'cite', index: this.#ensureOpen('text', emit), citation })
    for (const image of readImages(delta)) this.#emitWhole(image, emit)
    for (const call of lenientObjects(delta, 'tool_calls')) this.#readCall(call, emit)
    // The older form for a single call.
    const { function_call: functionCall } = delta
    if (isFields(functionCall))
      this.#readCall({ index: 0, id: functionCall.name ?? '', function: functionCall }, emit)
    if (typeof chunk.finish_reason === 'string') this.finish(chunk.finish_reason, emit)
  }
  finish(reason: Json, emit: Emit): void {
    if (this.hasStopped) return
    this.hasStopped = true
    this.#closeOpen(emit)
    for (const call of this.#calls)
      if (call.index !== undefined) emit({ type: 'close', index: call.index })
    emit({ type: 'stop', choice: this.#number, stop: stopOf(reason, this.#hasCalls) })
  }
  /** Thoughts may come both as plain text and as details; only the details carry payloads. */
  #readThoughts(thoughts: readonly Thought[], emit: Emit): void {
    for (const { text, payload } of thoughts) {
      if (text !== '') this.#grow('thought', text, emit)
      if (!payload) continue
      emit({ type: 'payload', index: this.#ensureOpen('thought', emit), payload })
      this.#closeOpen(emit)
    }
  }
  #grow(
    type: 'text' | 'thought' | 'refusal',
    text: string | undefined,
    emit: Emit,
    logprobs?: Json,
  ): void {
    if (!text) return
    emit({ type: 'grow', index: this.#ensureOpen(type, emit), text, ...(logprobs && { logprobs }) })
  }
  #ensureOpen(type: 'text' | 'thought' | 'refusal', emit: Emit): number {
    if (this.#openBlock?.type === type) return this.#openBlock.index
    this.#closeOpen(emit)
    const index = this.#openContent({ type, text: '' }, emit)
    this.#openBlock = { type, index }
    return index
  }
  #openContent(content: Content, emit: Emit): number {
    const index = this.#nextIndex()
    emit({ type: 'open', index, choice: this.#number, content })
    return index
  }
  #emitWhole(content: Content, emit: Emit): void {
    this.#closeOpen(emit)
    emit({ type: 'close', index: this.#openContent(content, emit) })
  }
  #closeOpen(emit: Emit): void {
    if (this.#openBlock) emit({ type: 'close', index: this.#openBlock.index })
    this.#openBlock = undefined
  }
  /** A fragment of a call. Usually only the first has id and name; some upstreams repeat them, some
   *  omit the index. */
  #readCall(fragment: Fields, emit: Emit): void {
    const isFreeText = isFields(fragment.custom)
    const fields = isFreeText
      ? lenientObject(fragment, 'custom')
      : lenientObject(fragment, 'function')
    const call = this.#callOf(fragment, fields)
    if (call.name === '') call.name = lenientText(fields, 'name') ?? ''
    const text = lenientText(fields, isFreeText ? 'input' : 'arguments') ?? ''
    call.input += text
    if (call.index !== undefined) {
      if (text !== '') emit({ type: 'grow', index: call.index, text })
      return
    }
    if (call.name === '') return
    this.#closeOpen(emit)
    this.#hasCalls = true
    const payload = readCallPayload(fragment)
    const id = call.sentId || `call_${this.#number}_${this.#calls.indexOf(call)}`
    call.index = this.#openContent(
      {
        type: 'call',
        id: decodeCallId(id),
        name: call.name,
        input: '',
        ...(isFreeText && { isFreeText }),
        ...(payload && { payload }),
      },
      emit,
    )
    if (call.input !== '') emit({ type: 'grow', index: call.index, text: call.input })
  }
  #callOf(fragment: Fields, fields: Fields): OpenCall {
    const id = lenientText(fragment, 'id') ?? ''
    const { index } = fragment
    const known =
      typeof index === 'number'
        ? this.#callsByIndex.get(index)
        : id === ''
          ? this.#calls.at(-1)
          : this.#calls.find(({ sentId }) => sentId === id)
    if (known && !(typeof index === 'number' && beginsAnother(known, id, fields))) return known
    const call: OpenCall = { sentId: id, name: '', input: '', index: undefined }
    this.#calls.push(call)
    if (typeof index === 'number') this.#callsByIndex.set(index, call)
    return call
  }
}

/** Whether a fragment with the index of a call is another call: some upstreams give all calls the
 *  same index. It has a name and its own id; without ids, the call before it is complete. */
const beginsAnother = (known: OpenCall, id: string, fields: Fields): boolean => {
  const name = lenientText(fields, 'name') ?? ''
  if (name === '' || known.name === '') return false
  if (id !== '' && known.sentId !== '') return id !== known.sentId
  const hasInput = Boolean(fields.arguments ?? fields.input)
  return (hasInput || name !== known.name) && isFields(parseJson(known.input))
}
