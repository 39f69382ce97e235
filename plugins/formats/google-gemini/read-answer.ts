/** Decodes an upstream's answer: whole, or as stream events, each of which is an answer with the
 *  new content only. */
import { randomUUID } from 'node:crypto'
import type { Answer, Part } from '../answer.ts'
import { fitted, NARROW } from '../call-id.ts'
import type { StreamDecoder } from '../codec.ts'
import { Collector } from '../collect.ts'
import { type Fields, inner, itemsIn, wordIn } from '../fields.ts'
import { fieldsOf } from '../format.ts'
import type { SseEvent } from '../sse.ts'
import { readLogprobs } from './logprobs.ts'
import { CandidateReader, type Shared } from './read-candidate.ts'
import { blockedBy } from './stops.ts'
import { hasCounts, metersOf } from './usage.ts'

class AnswerReader {
  readonly #candidates = new Map<number, CandidateReader>()
  #hasBegun = false
  #hasEnded = false
  #blocks = 0
  #ids = 0
  #name: string | undefined

  get ended(): boolean {
    return this.#hasEnded
  }
  take(answer: Fields, emit: (part: Part) => void): void {
    if (this.#hasEnded) return
    this.#begin(answer, emit)
    const { usageMetadata: usage } = answer
    if (hasCounts(usage)) emit({ type: 'count', meters: metersOf(usage) })
    const shared = this.#shared(emit)
    itemsIn(answer, 'candidates').forEach((candidate, position) => {
      this.#candidate(candidate, position, shared).take(candidate, shared)
    })
    this.#block(answer, emit)
    const all = [...this.#candidates.values()]
    if (all.length > 0 && all.every(({ stopped }) => stopped)) this.#end(emit)
  }
  /** Ends the candidates that have no finish reason. */
  finish(emit: (part: Part) => void): void {
    if (this.#hasEnded) return
    for (const candidate of this.#candidates.values()) candidate.stop(undefined)
    if (this.#candidates.size === 0) emit({ type: 'stop', choice: 0, stop: { reason: 'broken' } })
    this.#end(emit)
  }
  #begin(answer: Fields, emit: (part: Part) => void): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const id = wordIn(answer, 'responseId')
    const model = wordIn(answer, 'modelVersion')
    const created = Math.floor(Date.parse(wordIn(answer, 'createTime') ?? '') / 1000)
    const tier = wordIn(inner(answer, 'usageMetadata'), 'serviceTier')
    this.#name = id
    emit({
      type: 'begin',
      ...(id !== undefined && { id }),
      ...(model !== undefined && { model }),
      ...(Number.isFinite(created) && { created }),
      ...(tier !== undefined && { tier: tier === 'standard' ? 'default' : tier }),
    })
  }
  #candidate(candidate: Fields, position: number, shared: Shared): CandidateReader {
    const { index } = candidate
    const choice = typeof index === 'number' && index >= 0 ? index : position
    const existing = this.#candidates.get(choice)
    if (existing) return existing
    const reader = new CandidateReader(choice, shared)
    this.#candidates.set(choice, reader)
    return reader
  }
  /** The prompt itself was refused, so there is no candidate. */
  #block(answer: Fields, emit: (part: Part) => void): void {
    const feedback = inner(answer, 'promptFeedback')
    const reason = wordIn(feedback, 'blockReason')
    if (!reason || this.#candidates.size > 0) return
    const stop = blockedBy(reason, wordIn(feedback, 'blockReasonMessage'))
    emit({ type: 'stop', choice: 0, stop })
    this.#end(emit)
  }
  #end(emit: (part: Part) => void): void {
    this.#hasEnded = true
    emit({ type: 'end' })
  }
  #shared(emit: (part: Part) => void): Shared {
    return {
      emit,
      index: () => this.#blocks++,
      id: kind => {
        this.#name ??= randomUUID()
        return fitted(`${kind}_${this.#name}_${this.#ids++}`, NARROW)
      },
    }
  }
}

export const decodeAnswer = (body: Fields): Answer => {
  const collector = new Collector()
  const emit = (part: Part): void => collector.take(part)
  const reader = new AnswerReader()
  reader.take(body, emit)
  reader.finish(emit)
  const { choices, ...answer } = collector.answer()
  const logprobs = itemsIn(body, 'candidates').map(readLogprobs)
  return {
    ...answer,
    choices: choices.map((choice, index) =>
      logprobs[index] === undefined ? choice : { ...choice, logprobs: logprobs[index] },
    ),
  }
}

/** A stream's only terminator is its finish reason. */
export const decodeStream = (): StreamDecoder => {
  const reader = new AnswerReader()
  return {
    event(event: SseEvent, emit) {
      const answer = fieldsOf(event)
      if (answer) reader.take(answer, emit)
    },
    close: () => reader.ended,
  }
}
