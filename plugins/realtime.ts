/** Plugin `realtime`: usage of realtime sessions over a WebSocket, and the error event before a
 *  session is closed. */
import type { Bytes, Exchange, Message, Plugin, Slot } from '../engine/plugin.ts'
import { bodyOf } from './dialects/index.ts'
import {
  count,
  type Fields,
  isCount,
  isFields,
  lenientObject,
  parseJson,
} from './formats/fields.ts'
import { omitZeroMeters } from './formats/format.ts'
import { CLOSE_MESSAGE, type Meter, type Meters, USAGE } from './slots.ts'

export default {
  schema: {
    description:
      'Clients of this route use the realtime format; the usage of its responses is counted.',
    type: 'boolean',
    examples: [true],
  },
  // `meter` must see messages of the upstream after their usage is set.
  after: ['meter'],
  setup(on) {
    if (!on) return {}
    return {
      describe: () => ({ summary: 'Opens a WebSocket of the realtime format' }),
      async handle(exchange, next) {
        const { id, slots } = exchange
        slots.set(CLOSE_MESSAGE, reason => {
          const event = { type: 'error', event_id: `event_${id}`, ...bodyOf('openai', reason, id) }
          return Buffer.from(JSON.stringify(event))
        })
        slots.set(SESSION_USAGE, new SessionUsage(exchange))
        await next()
      },
      message(message, out, exchange) {
        if (message.from === 'upstream' && message.text)
          exchange.slots.get(SESSION_USAGE)?.onMessage(message)
        out(message)
      },
      explain: () => ({ realtime: 'usage is counted from response.done' }),
    }
  },
} satisfies Plugin<boolean>

const DONE = Buffer.from('"response.done"')
const DELTA = Buffer.from('.delta"')
const AUDIO = Buffer.from('audio.delta"')
/** Bytes that contain the `type` of an upstream's event; later text may quote one. */
const TYPE_BYTES = 256
/** Base64 characters of one audio token: 50 ms at 24 kHz, 16 bits. */
const AUDIO_TOKEN_CHARACTERS = 3_200

/** Usage of one session. */
class SessionUsage {
  readonly #exchange: Exchange
  #total: Meters = {}
  /** Estimated output tokens of the response in progress: charged if its end never arrives. */
  #text = 0
  #audio = 0
  /** Input meters of the previous response: the next one has no fewer. */
  #lastInput: Meters = {}

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }
  onMessage({ payload }: Message): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length)
    const head = bytes.subarray(0, TYPE_BYTES)
    if (head.includes(DELTA)) this.#onDelta(head, bytes)
    else if (bytes.includes(DONE)) this.#onDone(bytes)
  }
  #onDelta(head: Buffer, { length }: Buffer): void {
    if (head.includes(AUDIO)) this.#audio += length / AUDIO_TOKEN_CHARACTERS
    else this.#text++
    const output = { output: this.#text, audio_output: Math.ceil(this.#audio) }
    const meters = omitZeroMeters(addMeters(addMeters(this.#total, this.#lastInput), output))
    this.#exchange.slots.set(USAGE, { meters, estimated: true })
  }
  #onDone(bytes: Bytes): void {
    const event = parseJson(Buffer.from(bytes).toString())
    if (!isFields(event) || event.type !== 'response.done') return
    const { usage } = lenientObject(event, 'response')
    const estimate = {
      ...this.#lastInput,
      output: this.#text,
      audio_output: Math.ceil(this.#audio),
    }
    const isReported =
      isFields(usage) && isCount(usage.input_tokens) && isCount(usage.output_tokens)
    const meters = isReported ? metersOf(usage) : omitZeroMeters(estimate)
    const { output: _, audio_output: __, ...read } = meters
    this.#lastInput = read
    this.#text = this.#audio = 0
    this.#total = addMeters(this.#total, meters)
    this.#exchange.slots.set(USAGE, { meters: this.#total, estimated: !isReported })
  }
}
const SESSION_USAGE: Slot<SessionUsage> = { name: 'session-usage' }

/** `input_tokens` includes text, audio and images, and the cached tokens of each. */
const metersOf = (usage: Fields): Meters => {
  const inputDetails = lenientObject(usage, 'input_token_details')
  const cachedDetails = lenientObject(inputDetails, 'cached_tokens_details')
  const cached = Math.min(count(inputDetails.cached_tokens), count(usage.input_tokens))
  const fresh = (name: string): number =>
    Math.max(0, count(inputDetails[name]) - count(cachedDetails[name]))
  const rest = count(usage.input_tokens) - cached
  const audioInput = Math.min(fresh('audio_tokens'), rest)
  const imageInput = Math.min(fresh('image_tokens'), rest - audioInput)
  const output = count(usage.output_tokens)
  const audioOutput = Math.min(
    count(lenientObject(usage, 'output_token_details').audio_tokens),
    output,
  )
  return omitZeroMeters({
    input: rest - audioInput - imageInput,
    cached,
    audio_input: audioInput,
    image_input: imageInput,
    output: output - audioOutput,
    audio_output: audioOutput,
  })
}
const addMeters = (one: Meters, other: Meters): Meters => {
  const sum: { [meter: string]: number } = { ...one }
  for (const [meter, amount] of Object.entries(other))
    sum[meter] = (one[meter as Meter] ?? 0) + amount
  return sum
}
