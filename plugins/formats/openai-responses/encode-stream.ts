/** Encodes a client's stream: numbered events from `response.created` to the one that holds the
 *  whole response. No `[DONE]`. */
import type { Meters } from '../../slots.ts'
import { type Fields, lenientObject, lenientText } from '../fields.ts'
import type { Part, Stop } from '../hub/answer.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import { Output } from './answer/output.ts'
import { type ResponseState, responseOf } from './answer/response-object.ts'
import { endingOf } from './stops.ts'
import { offersSearch } from './tool-search.ts'

export const encodeStream = (context: EncodeContext): StreamEncoder => new ResponsesEncoder(context)

class ResponsesEncoder implements StreamEncoder {
  readonly #context: EncodeContext
  readonly #output: Output
  #eventCount = 0
  /** Events since the last call. */
  #text = ''
  #hasBegun = false
  #meters: Meters | undefined
  #stop: Stop = { reason: 'end' }
  #tier: string | undefined

  constructor(context: EncodeContext) {
    this.#context = context
    this.#output = new Output(context.id, offersSearch(context.prompt), (type, members) =>
      this.#emit(type, members),
    )
  }
  push(part: Part): string {
    this.#begin()
    if (part.type === 'count') this.#meters = part.meters
    else if (part.type === 'begin') {
      this.#meters = part.meters
      this.#tier = part.tier
    }
    // This format carries one answer only.
    else if (part.type === 'stop') this.#stop = part.choice === 0 ? part.stop : this.#stop
    else if (part.type === 'end') this.#finish()
    else if (part.type !== 'open' || part.choice === 0) this.#output.add(part)
    return this.#takeText()
  }
  failure(body: Fields): string {
    this.#begin()
    const { code, message, param } = errorIn(body)
    this.#emitError({ code, message, param })
    const error = { code: code ?? 'server_error', message }
    this.#emitResponse('response.failed', {
      status: 'failed',
      error,
      output: this.#output.items,
      meters: this.#meters,
    })
    return this.#takeText()
  }
  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    for (const type of ['response.created', 'response.in_progress'])
      this.#emitResponse(type, { status: 'in_progress', output: [] })
  }
  #finish(): void {
    const output = this.#output
    const stop = this.#stop
    if (stop.reason === 'refusal') output.addRefusal(stop.message)
    const ending = endingOf(stop, output.hasRefusal)
    const { status, error } = ending
    output.finish(status === 'completed' ? 'completed' : 'incomplete')
    if (error) this.#emitError(error)
    const tier = this.#tier ?? this.#context.servedTier?.()
    const state = { ...ending, output: output.items, meters: this.#meters, tier }
    this.#emitResponse(`response.${status}`, state)
  }
  #emitResponse(type: string, state: ResponseState): void {
    this.#emit(type, { response: responseOf(this.#context, state) })
  }
  #emitError(error: Fields): void {
    this.#emit('error', { code: null, message: '', param: null, ...error })
  }
  #emit(type: string, members: Fields): void {
    const event = { type, sequence_number: this.#eventCount++, ...members }
    this.#text += `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  }
  #takeText(): string {
    const text = this.#text
    this.#text = ''
    return text
  }
}

/** Reads the error from the body in the client's dialect. */
const errorIn = (
  body: Fields,
): { readonly code: string | null; readonly message: string; readonly param: string | null } => {
  const error = lenientObject(body, 'error')
  return {
    code: lenientText(error, 'code') ?? lenientText(error, 'type') ?? null,
    message: lenientText(error, 'message') ?? '',
    param: lenientText(error, 'param') ?? null,
  }
}
