/** Decodes an upstream's stream event by event. */
import { fault } from '../faults.ts'
import { type Fields, isFields, lenientObject } from '../fields.ts'
import { eventFields, eventType } from '../format.ts'
import type { Part, Stop } from '../hub/answer.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { Content, HostedCall } from '../hub/content.ts'
import type { SseEvent } from '../stream/sse.ts'
import { BlockReader } from './answer/decode-block.ts'
import { HostedCalls, isResult } from './decode-hosted-tools.ts'
import { textIn } from './members.ts'
import { type Caller, callerIn, defaultStop, stopOf } from './stops.ts'
import { contextMetersOf, mergeCounts, tierOf } from './usage.ts'

type Emit = (part: Part) => void

export const decodeStream = (): StreamDecoder => new Decoder()

class Decoder implements StreamDecoder {
  readonly #hostedCalls = new HostedCalls()
  /** Unfinished hosted calls: id -> index in the hub. */
  readonly #openHostedCalls = new Map<string, number>()
  /** Open blocks by the upstream's index. */
  readonly #openBlocks = new Map<number, BlockReader>()
  #usage: Fields = {}
  #next = 0
  #hasBegun = false
  #caller: Caller = 'none'
  #stop: Stop | undefined
  #hasEnded = false

  push(event: SseEvent, emit: Emit): void {
    if (this.#hasEnded) return
    const fields = eventFields(event)
    if (!fields) return
    const handle = HANDLERS[eventType(event)]
    if (handle) this[handle](fields, emit)
  }
  close(emit: Emit): boolean {
    if (!this.#hasEnded && this.#stop) this.finish({}, emit)
    return this.#hasEnded
  }
  /** A spliced stream starts twice; the first start counts. A restart inside a block leaves that
   *  block incomplete, which is a fault. */
  start(event: Fields, emit: Emit): void {
    if (this.#openBlocks.size > 0) throw fault('ANSWER_TANGLED')
    const message = lenientObject(event, 'message')
    this.#usage = mergeCounts(this.#usage, lenientObject(message, 'usage'))
    if (this.#hasBegun) return
    this.#hasBegun = true
    const id = textIn(message, 'id', undefined)
    const model = textIn(message, 'model', undefined)
    const tier = tierOf(this.#usage)
    emit({
      type: 'begin',
      ...(id !== undefined && { id }),
      ...(model !== undefined && { model }),
      ...(isFields(message.usage) && { meters: contextMetersOf(message.usage) }),
      ...(tier !== undefined && { tier }),
    })
  }
  open(event: Fields, emit: Emit): void {
    const index = indexOf(event)
    this.stop(event, emit)
    this.#start(index, lenientObject(event, 'content_block'), emit)
  }
  grow(event: Fields, emit: Emit): void {
    const index = indexOf(event)
    const delta = lenientObject(event, 'delta')
    // Some upstreams omit the start of a block.
    if (!this.#openBlocks.has(index) && delta.type === 'text_delta')
      this.#start(index, { type: 'text', text: '' }, emit)
    this.#openBlocks.get(index)?.addDelta(delta, emit)
  }
  stop(event: Fields, emit: Emit): void {
    const index = indexOf(event)
    const block = this.#openBlocks.get(index)
    if (!block) return
    this.#openBlocks.delete(index)
    const use = block.useBlock
    if (!use) return block.close(emit)
    const call = this.#hostedCalls.addUse(use, undefined)
    this.#openHostedCalls.set(call.id, block.index)
  }
  delta(event: Fields, emit: Emit): void {
    const usage = lenientObject(event, 'usage')
    this.#usage = mergeCounts(this.#usage, usage)
    if (Object.keys(usage).length > 0) emit({ type: 'count', meters: contextMetersOf(this.#usage) })
    const stop = stopOf(lenientObject(event, 'delta'), this.#caller)
    if (stop) this.#end(stop, emit)
  }
  finish(_event: Fields, emit: Emit): void {
    this.#end(defaultStop(this.#caller), emit)
    this.#hasEnded = true
    emit({ type: 'end' })
  }
  #start(index: number, block: Fields, emit: Emit): void {
    const type = textIn(block, 'type', undefined) ?? ''
    if (isResult(type)) return this.#emitCall(this.#hostedCalls.addResult(block, undefined), emit)
    const reader = new BlockReader(block, this.#next)
    if (!reader.useBlock) this.#finishCalls(emit)
    if (this.#caller !== 'model' && reader.content.type === 'call')
      this.#caller = callerIn([reader.content])
    this.#next++
    this.#openBlocks.set(index, reader)
    reader.open(emit)
  }
  #emitCall(call: HostedCall, emit: Emit): void {
    let index = this.#openHostedCalls.get(call.id)
    if (index === undefined) {
      index = this.#next++
      emit({ type: 'open', index, choice: 0, content: call satisfies Content })
    }
    this.#openHostedCalls.delete(call.id)
    emit({ type: 'close', index, content: call })
  }
  #finishCalls(emit: Emit): void {
    for (const call of this.#hostedCalls.finishOpen()) this.#emitCall(call, emit)
  }
  /** Closes all open blocks at the stop. */
  #end(stop: Stop, emit: Emit): void {
    if (this.#stop) return
    for (const index of [...this.#openBlocks.keys()]) this.stop({ index }, emit)
    this.#finishCalls(emit)
    this.#stop = stop
    emit({ type: 'stop', choice: 0, stop })
  }
}
const indexOf = ({ index }: Fields): number => (typeof index === 'number' ? index : 0)

const HANDLERS: Readonly<Record<string, 'start' | 'open' | 'grow' | 'stop' | 'delta' | 'finish'>> =
  {
    message_start: 'start',
    content_block_start: 'open',
    content_block_delta: 'grow',
    content_block_stop: 'stop',
    message_delta: 'delta',
    message_stop: 'finish',
  }
