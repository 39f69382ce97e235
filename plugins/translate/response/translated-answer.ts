/** Translates a plain answer from the target's format to the client's, in one piece at its end. */
import { asFault } from '../../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../../formats/fields.ts'
import type { TargetFormat } from '../../formats/format.ts'
import type { Answer } from '../../formats/hub/answer.ts'
import { partsOf } from '../../formats/hub/answer-parts.ts'
import type { ResponseListener } from '../../formats/stream/response-listener.ts'
import type { ResponseEncoder } from './response-encoder.ts'

export class TranslatedAnswer implements Filter {
  readonly #target: AnswerTarget
  readonly #encoder: ResponseEncoder
  readonly #listener: ResponseListener
  readonly #chunks: Bytes[] = []

  constructor(target: AnswerTarget, encoder: ResponseEncoder, listener: ResponseListener) {
    this.#target = target
    this.#encoder = encoder
    this.#listener = listener
  }
  write(chunk: Bytes): void {
    this.#listener.onBytes(chunk, false)
    this.#chunks.push(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail)
    const { answer, counts, error } = this.#decode()
    this.#listener.onUsage({ counts, meters: answer?.meters }, answer !== undefined)
    if (!answer) return out.fail(error ?? this.#listener.faultOf('UPSTREAM_UNREADABLE'))
    const { onPart } = this.#listener
    if (onPart) for (const part of partsOf(answer)) onPart(part)
    let bytes: Bytes
    try {
      bytes = this.#encoder.encodeAnswer(answer)
    } catch (cause) {
      return out.fail(asFault(cause))
    }
    out.end(bytes)
  }
  fail(reason: Fault, out: Out): void {
    this.#listener.onUsage({}, false)
    out.fail(reason)
  }
  /** Some upstreams send errors with status 200: a body without content that reports an error is
   *  that error. */
  #decode(): DecodedAnswer {
    const value = parseJson(Buffer.concat(this.#chunks).toString())
    const fields = Array.isArray(value) ? value[0] : value
    if (!isFields(fields)) return {}
    const { codec, served, usage, failureOf } = this.#target
    this.#listener.onServed(served.read(fields))
    const counts = usage && (usage.inAnswer?.(fields) ?? fields[usage.key])
    const reported = isFields(counts) ? { counts } : {}
    try {
      const answer = codec.decodeAnswer(fields)
      if (answer.choices.some(({ content }) => content.length > 0)) return { answer, ...reported }
      const error = failureOf(fields)
      return error ? { error, ...reported } : { answer, ...reported }
    } catch {
      return reported
    }
  }
}
interface AnswerTarget extends Pick<TargetFormat, 'codec' | 'served' | 'usage'> {
  /** The error that an answer without content reports in its place. */
  failureOf(answer: Fields): Fault | undefined
}
interface DecodedAnswer {
  readonly answer?: Answer
  readonly counts?: Fields
  readonly error?: Fault
}
