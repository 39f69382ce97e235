/** Conversations over a WebSocket: what each answer used, as the upstream counts it, and the event that says why one ends. */
import type { Bytes, Exchange, Message, Plugin, Slot } from '../engine/plugin.ts'
import { bodyOf } from './dialects/index.ts'
import { count, type Fields, inner, isCount, isFields, parsed } from './formats/fields.ts'
import { positive } from './formats/format.ts'
import { type Meter, type Meters, PARTING, USAGE } from './slots.ts'

export default {
  schema: {
    description:
      'Clients of this route speak the realtime format; what its answers use is counted.',
    type: 'boolean',
    examples: [true],
  },
  // Messages of the upstream reach `meter` when their usage is counted.
  after: ['meter'],
  setup(on) {
    if (!on) return {}
    return {
      async handle(exchange, next) {
        const { id, slots } = exchange
        slots.set(PARTING, reason => {
          const event = { type: 'error', event_id: `event_${id}`, ...bodyOf('openai', reason, id) }
          return Buffer.from(JSON.stringify(event))
        })
        slots.set(TALK, new Talk(exchange))
        await next()
      },
      message(message, out, exchange) {
        if (message.from === 'upstream' && message.text) exchange.slots.get(TALK)?.hear(message)
        out(message)
      },
      explain: () => ({ realtime: 'usage is counted from response.done' }),
    }
  },
} satisfies Plugin<boolean>

const DONE = Buffer.from('"response.done"')
const DELTA = Buffer.from('.delta"')
const AUDIO = Buffer.from('audio.delta"')
/** An upstream's `type` stands in front; what is quoted further back was said by somebody. */
const HEAD = 256
/** Base64 of sound that is one token: 50 ms at 24 kHz, 16 bits. */
const SOUND = 3_200

/** One conversation's counts. */
class Talk {
  readonly #exchange: Exchange
  #total: Meters = {}
  /** What an answer under way has said so far, in tokens: paid for if its end is never heard. */
  #text = 0
  #sound = 0
  /** What the answer before it read: the next one reads no less. */
  #read: Meters = {}

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }
  hear({ payload }: Message): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length)
    const head = bytes.subarray(0, HEAD)
    if (head.includes(DELTA)) this.#begun(head, bytes)
    else if (bytes.includes(DONE)) this.#done(bytes)
  }
  #begun(head: Buffer, { length }: Buffer): void {
    if (head.includes(AUDIO)) this.#sound += length / SOUND
    else this.#text++
    const written = { output: this.#text, audio_output: Math.ceil(this.#sound) }
    const meters = positive(added(added(this.#total, this.#read), written))
    this.#exchange.slots.set(USAGE, { meters, estimated: true })
  }
  #done(bytes: Bytes): void {
    const event = parsed(Buffer.from(bytes).toString())
    if (!isFields(event) || event.type !== 'response.done') return
    const { usage } = inner(event, 'response')
    const guessed = { ...this.#read, output: this.#text, audio_output: Math.ceil(this.#sound) }
    const told = isFields(usage) && isCount(usage.input_tokens) && isCount(usage.output_tokens)
    const meters = told ? spokenMeters(usage) : positive(guessed)
    const { output: _, audio_output: __, ...read } = meters
    this.#read = read
    this.#text = this.#sound = 0
    this.#total = added(this.#total, meters)
    this.#exchange.slots.set(USAGE, { meters: this.#total, estimated: !told })
  }
}
const TALK: Slot<Talk> = { name: 'talk' }

/** `input_tokens` holds text, sound and images, and of each what was cached. */
const spokenMeters = (usage: Fields): Meters => {
  const read = inner(usage, 'input_token_details')
  const kept = inner(read, 'cached_tokens_details')
  const cached = Math.min(count(read.cached_tokens), count(usage.input_tokens))
  const fresh = (name: string): number => Math.max(0, count(read[name]) - count(kept[name]))
  const rest = count(usage.input_tokens) - cached
  const heard = Math.min(fresh('audio_tokens'), rest)
  const seen = Math.min(fresh('image_tokens'), rest - heard)
  const output = count(usage.output_tokens)
  const spoken = Math.min(count(inner(usage, 'output_token_details').audio_tokens), output)
  return positive({
    input: rest - heard - seen,
    cached,
    audio_input: heard,
    image_input: seen,
    output: output - spoken,
    audio_output: spoken,
  })
}
const added = (one: Meters, other: Meters): Meters => {
  const sum: { [meter: string]: number } = { ...one }
  for (const [meter, amount] of Object.entries(other))
    sum[meter] = (one[meter as Meter] ?? 0) + amount
  return sum
}
