/** The events of one response that is served inside, as texts, and how it ended. */
import type { Bytes, InsideResponse } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../../formats/fields.ts'
import { eventsIn, isEventStream, Splitter, type SseEvent } from '../../formats/stream/sse.ts'
import { FINAL_EVENTS } from '../recorder.ts'
import { errorEvent, repeatedHeaders, withMembers } from './events.ts'

export class ResponseEvents {
  /** The response in the event that ended the stream. */
  response: Fields | undefined
  /** Whether a final event or an error has come: without one a client would wait for ever. */
  isFinished = false
  readonly #source: InsideResponse

  constructor(source: InsideResponse) {
    this.#source = source
  }
  /** Whether the response succeeded, so that another may continue it. */
  get hasFailed(): boolean {
    return this.response === undefined || this.response.status === 'failed'
  }
  async *texts(): AsyncGenerator<string> {
    if (!isEventStream(this.#source)) return yield this.#plain(await readAll(this.#source.body))
    const splitter = new Splitter()
    let members = { headers: repeatedHeaders(this.#source.headers) } as Fields
    for await (const chunk of this.#source.body)
      for (const text of this.#events(splitter.push(chunk))) {
        yield withMembers(text, members)
        members = {}
      }
    yield* this.#events(splitter.take())
  }
  #plain(bytes: Bytes): string {
    const { status, headers } = this.#source
    const body = parseJson(Buffer.from(bytes).toString())
    this.isFinished = true
    if (isFields(body) && body.object === 'response') {
      this.response = body
      return JSON.stringify({ type: 'response.completed', sequence_number: 0, response: body })
    }
    const error = isFields(body) ? body.error : undefined
    return errorEvent(status < 400 ? 502 : status, error, repeatedHeaders(headers))
  }
  *#events(bytes: Bytes | undefined): Generator<string> {
    if (bytes) for (const event of eventsIn(bytes)) yield* this.#event(event)
  }
  *#event({ name, data }: SseEvent): Generator<string> {
    if (data === undefined) return
    // Most events have a name that says enough.
    if (name !== '' && name !== 'error' && !FINAL_EVENTS.has(name)) return yield data
    const event = parseJson(data)
    if (!isFields(event)) return
    const isFinal = FINAL_EVENTS.has(String(event.type))
    if (isFinal && isFields(event.response)) this.response = event.response
    if (isFinal || event.type === 'error' || 'error' in event) this.isFinished = true
    // The gateway ends a stream with the body of an HTTP error.
    yield event.type === undefined && 'error' in event ? errorEvent(502, event.error) : data
  }
}

const readAll = async (body: AsyncIterable<Bytes>): Promise<Bytes> => {
  const chunks: Bytes[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
