/** Reads an upstream's answer, whole or event by event: each event of a stream is an answer with
 *  the new content only. */
import { randomUUID } from 'node:crypto'
import { type Fields, lenientObject, lenientObjects, lenientText } from '../../fields.ts'
import { beginPart } from '../../google/begin-part.ts'
import type { Part } from '../../hub/answer.ts'
import { encodeCallId, PORTABLE_ID } from '../../hub/call-id.ts'
import { blockStop } from '../stops.ts'
import { hasCounts, metersOf } from '../usage.ts'
import { type AnswerState, CandidateReader } from './decode-candidate.ts'

export class AnswerReader {
  readonly #candidates = new Map<number, CandidateReader>()
  #hasBegun = false
  #hasEnded = false
  #blocks = 0
  #ids = 0
  #answerId: string | undefined

  /** Every candidate has a finish reason; with server-side tools more content may follow. */
  get hasStopped(): boolean {
    const candidates = [...this.#candidates.values()]
    return this.#hasEnded || (candidates.length > 0 && candidates.every(each => each.hasStopped))
  }
  add(answer: Fields, emit: (part: Part) => void): void {
    if (this.#hasEnded) return
    this.#begin(answer, emit)
    const { usageMetadata: usage } = answer
    if (hasCounts(usage)) emit({ type: 'count', meters: metersOf(usage) })
    const state = this.#stateFor(emit)
    lenientObjects(answer, 'candidates').forEach((candidate, position) => {
      this.#candidateFor(candidate, position, state).add(candidate, state)
    })
    this.#readFeedback(answer, emit)
  }
  finish(emit: (part: Part) => void): void {
    if (this.#hasEnded) return
    const state = this.#stateFor(emit)
    for (const candidate of this.#candidates.values()) candidate.finish(state)
    if (this.#candidates.size === 0) emit({ type: 'stop', choice: 0, stop: { reason: 'broken' } })
    this.#end(emit)
  }
  #begin(answer: Fields, emit: (part: Part) => void): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const id = lenientText(answer, 'responseId')
    const model = lenientText(answer, 'modelVersion')
    const created = lenientText(answer, 'createTime')
    const tier = lenientText(lenientObject(answer, 'usageMetadata'), 'serviceTier')
    this.#answerId = id
    emit(beginPart({ id, model, created, tier }))
  }
  #candidateFor(candidate: Fields, position: number, state: AnswerState): CandidateReader {
    const { index } = candidate
    const choice = typeof index === 'number' && index >= 0 ? index : position
    const existing = this.#candidates.get(choice)
    if (existing) return existing
    const reader = new CandidateReader(choice, state)
    this.#candidates.set(choice, reader)
    return reader
  }
  /** The prompt itself was refused, so there is no candidate. */
  #readFeedback(answer: Fields, emit: (part: Part) => void): void {
    const feedback = lenientObject(answer, 'promptFeedback')
    const reason = lenientText(feedback, 'blockReason')
    if (!reason || this.#candidates.size > 0) return
    const stop = blockStop(reason, lenientText(feedback, 'blockReasonMessage'))
    emit({ type: 'stop', choice: 0, stop })
    this.#end(emit)
  }
  #end(emit: (part: Part) => void): void {
    this.#hasEnded = true
    emit({ type: 'end' })
  }
  #stateFor(emit: (part: Part) => void): AnswerState {
    return {
      emit,
      nextIndex: () => this.#blocks++,
      newId: kind => {
        this.#answerId ??= randomUUID()
        return encodeCallId(`${kind}_${this.#answerId}_${this.#ids++}`, PORTABLE_ID)
      },
    }
  }
}
