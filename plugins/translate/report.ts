/** What the crossing of one attempt's answer tells the rest of the gateway, in the words of both formats. */
import type { Attempt, Bytes, Fault, Log } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { blame, isKeyStatus, refusalOf } from '../conversion/refusal.ts'
import { bodyOf } from '../dialects/index.ts'
import type { Answer, Part } from '../formats/answer.ts'
import { partsOf } from '../formats/collect.ts'
import type { Fields } from '../formats/fields.ts'
import type { Format, Tally, TargetFormat } from '../formats/format.ts'
import type { SseEvent } from '../formats/sse.ts'
import { BROKEN, type Meters, USAGE } from '../slots.ts'
import { AnswerUsage } from './answer-usage.ts'
import type { Report } from './crossed.ts'
import type { Listener } from './memory.ts'

export class AttemptReport implements Report {
  readonly #dialect: Format['dialect']
  readonly #target: TargetFormat
  readonly #log: Log
  readonly #attempt: Attempt
  readonly #listener: Listener | undefined
  readonly #tally: Tally | undefined
  /** Absent of a target whose counts are our own. */
  readonly #usage: AnswerUsage | undefined

  constructor(
    client: Format,
    target: TargetFormat,
    log: Log,
    attempt: Attempt,
    listener: Listener | undefined,
    tally: Tally | undefined,
    streamed: boolean,
  ) {
    this.#dialect = client.dialect
    this.#target = target
    this.#log = log
    this.#attempt = attempt
    this.#listener = listener
    this.#tally = tally
    const { usage: facts } = target
    if (facts?.text) this.#usage = new AnswerUsage(attempt, { facts, streamed }, tally, log)
  }
  passed(bytes: Bytes, event?: Fields): void {
    const counts = event !== undefined && this.#usage?.event(event) === true
    this.#usage?.passed(bytes, counts)
  }
  readWhole(answer: Fields): void {
    this.#usage?.answer(answer)
  }
  heard(part: Part): void {
    this.#listener?.hear(part)
  }
  heardWhole(answer: Answer): void {
    if (this.#listener) for (const part of partsOf(answer)) this.#listener.hear(part)
  }
  counted(meters: Meters | undefined, whole: boolean): void {
    if (this.#usage) return this.#usage.counted(whole)
    const estimated = !whole || meters === undefined
    const all = { ...meters, ...this.#tally?.meters }
    this.#attempt.exchange.slots.set(USAGE, { meters: all, estimated })
  }
  bodyOf(reason: Fault): Fields {
    return bodyOf(this.#dialect, reason, this.#attempt.exchange.id)
  }
  errorIn(event: SseEvent): Fault | undefined {
    const error = this.#target.stream.error(event)
    if (!error) return undefined
    if (isKeyStatus(error.status))
      return blame(this.#log, this.#attempt, error.status, JSON.stringify(error.body))
    return refusalOf(this.#target.codec, error.status, error.body)
  }
  broke(reason: Fault): void {
    const { exchange, target } = this.#attempt
    const { upstream } = target
    this.#log.warn({ id: exchange.id, upstream, code: reason.code }, 'a stream ended in an error')
    exchange.slots.set(BROKEN, true)
  }
  lingers(): void {
    this.#attempt.exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}
