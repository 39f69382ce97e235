/** Plugin `realtime`: usage of realtime sessions over a WebSocket, and the error event before a
 *  session is closed. */
import { flag } from '../engine/config/shape.ts'
import type { Bytes, Exchange, Message, Plugin, Slot } from '../engine/plugin.ts'
import { createOwnerWatch } from './credentials/work-owner.ts'
import { bodyOf } from './dialects/index.ts'
import {
  count,
  type Fields,
  isCount,
  isFields,
  lenientObject,
  parseJson,
  quantity,
} from './formats/fields.ts'
import { omitZeroMeters } from './formats/format.ts'
import { mergeServed, servedByHeaders, servedOf } from './formats/served.ts'
import { AUDIO_NAMES, withOwnNames } from './formats/stream/count-names.ts'
import { PROMPT_METERS } from './formats/token-meters.ts'
import {
  type Attributes,
  CLOSE_MESSAGE,
  METERED,
  type Meter,
  type Meters,
  type PricedMeters,
  SERVED,
  type Served,
  USAGE,
  type UsagePart,
} from './slots.ts'

export default {
  schema: flag(
    'Clients of this route use the realtime format; the usage of its responses is counted.',
    { examples: [true] },
  ).schema,
  // `meter` must see messages of the upstream after their usage is set.
  after: ['meter'],
  setup(on, host) {
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
        slots.set(OWNER_WATCH, createOwnerWatch(host, slots))
        await next()
        slots.set(SERVED, servedByHeaders(exchange.reply.headers, exchange))
      },
      message(message, out, exchange) {
        const look = message.from === 'client' ? exchange.slots.get(OWNER_WATCH)?.() : undefined
        if (look) return look.then(() => out(message))
        if (message.from === 'upstream' && message.text)
          exchange.slots.get(SESSION_USAGE)?.onMessage(message)
        return out(message)
      },
      explain: () => ({ realtime: 'usage is counted from response.done and from transcripts' }),
    }
  },
} satisfies Plugin<boolean>

const OWNER_WATCH: Slot<ReturnType<typeof createOwnerWatch>> = { name: 'owner-watch' }
const DONE = Buffer.from('"response.done"')
/** Events of sessions that are billed by their duration. */
const SESSION = ['"session.usage.updated"', '"session.closed"'].map(each => Buffer.from(each))
const CREATED = Buffer.from('"session.created"')
const TRANSCRIBED_TYPE = 'input_audio_transcription.completed'
const TRANSCRIBED = Buffer.from(`${TRANSCRIBED_TYPE}"`)
const DELTA = Buffer.from('.delta"')
const AUDIO = Buffer.from('audio.delta"')
const TRANSCRIPT = Buffer.from('input_audio_transcription.delta"')
/** Bytes that contain the `type` of an upstream's event; later text may quote one. */
const TYPE_BYTES = 256
/** Base64 characters of one audio token: 50 ms at 24 kHz, 16 bits. */
const AUDIO_TOKEN_CHARACTERS = 3_200

/** Usage of one session. */
class SessionUsage {
  readonly #exchange: Exchange
  /** The finished ones, by the attributes of the responses. */
  readonly #parts = new Map<string, UsagePart>()
  /** Of the previous response. */
  #attributes: Attributes = {}
  /** Estimated output tokens of the response in progress: charged if its end never arrives. */
  #text = 0
  #audio = 0
  /** The same for the transcript of the speaker that is in progress. */
  #transcript = 0
  /** Input meters of the previous response: the next one has no fewer. */
  #lastInput: Meters = {}
  /** Of the session, that are charged. */
  #seconds = 0

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }
  onMessage({ payload }: Message): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length)
    const head = bytes.subarray(0, TYPE_BYTES)
    if (head.includes(DELTA)) this.#onDelta(head, bytes)
    else if (bytes.includes(DONE)) this.#onDone(bytes)
    else if (bytes.includes(TRANSCRIBED)) this.#onTranscribed(bytes)
    else if (SESSION.some(type => head.includes(type))) this.#onSession(bytes)
    else if (head.includes(CREATED)) this.#onCreated(bytes)
  }
  #onCreated(bytes: Bytes): void {
    const event = parseJson(Buffer.from(bytes).toString())
    if (!isFields(event) || event.type !== 'session.created') return
    const { id, model } = lenientObject(event, 'session')
    this.#addServed(servedOf(id, model))
  }
  /** The session and its last response: an id of a response replaces that of the session. */
  #addServed(served: Served): void {
    const { slots } = this.#exchange
    slots.set(SERVED, mergeServed(slots.get(SERVED) ?? {}, served))
  }
  #add(meters: Meters, attributes: Attributes = {}): void {
    addPart(this.#parts, omitZeroMeters(meters), attributes)
  }
  /** `pending`: of what is in progress, which is estimated. */
  #setUsage(estimated: boolean, pending?: Meters): void {
    const parts = new Map(this.#parts)
    if (pending) addPart(parts, omitZeroMeters(pending), this.#attributes)
    const list = [...parts.values()]
    const meters = list.reduce<Meters>((sum, part) => addMeters(sum, part.meters), {})
    const usage = { meters, estimated, ...(list.length > 1 && { parts: list }) }
    this.#exchange.slots.set(USAGE, usage)
  }
  #onDelta(head: Buffer, { length }: Buffer): void {
    if (head.includes(AUDIO)) this.#audio += length / AUDIO_TOKEN_CHARACTERS
    else if (head.includes(TRANSCRIPT)) this.#transcript++
    else this.#text++
    this.#setUsage(true, this.#pending())
  }
  /** Estimated from what has arrived of the response and the transcript in progress. */
  #pending(): Meters {
    return {
      ...(this.#isResponding && this.#lastInput),
      output: this.#text,
      audio_output: Math.ceil(this.#audio),
      transcription_output: this.#transcript,
    }
  }
  get #isResponding(): boolean {
    return this.#text > 0 || this.#audio > 0
  }
  /** Another model writes the transcript, which is billed apart from the responses. */
  #onTranscribed(bytes: Bytes): void {
    const event = parseJson(Buffer.from(bytes).toString())
    if (!isFields(event) || !String(event.type).endsWith(TRANSCRIBED_TYPE)) return
    const usage = ownNames(lenientObject(event, 'usage'))
    const isReported = isCount(usage.input_tokens) || quantity(usage.seconds) > 0
    const meters: Meters = isReported
      ? transcriptMetersOf(usage, this.#exchange.slots.get(METERED))
      : { transcription_output: this.#transcript }
    this.#transcript = 0
    this.#seconds += meters.seconds ?? 0
    this.#add(meters)
    const isResponding = this.#isResponding
    this.#setUsage(isResponding || !isReported, isResponding ? this.#pending() : undefined)
  }
  /** `seconds`: of the session so far. */
  #onSession(bytes: Bytes): void {
    const event = parseJson(Buffer.from(bytes).toString())
    const usage = isFields(event) ? ownNames(lenientObject(event, 'usage')) : {}
    const seconds = quantity(usage.seconds)
    if (seconds <= this.#seconds) return
    this.#add({ seconds: seconds - this.#seconds })
    this.#seconds = seconds
    this.#setUsage(false)
  }
  #onDone(bytes: Bytes): void {
    const event = parseJson(Buffer.from(bytes).toString())
    if (!isFields(event) || event.type !== 'response.done') return
    const { id, usage: report, service_tier } = lenientObject(event, 'response')
    const usage = isFields(report) ? ownNames(report) : {}
    this.#attributes = servedOf(undefined, undefined, { service_tier }).attributes ?? {}
    const estimate = {
      ...this.#lastInput,
      output: this.#text,
      audio_output: Math.ceil(this.#audio),
    }
    const isReported = isCount(usage.input_tokens) && isCount(usage.output_tokens)
    const meters = isReported ? metersOf(usage) : omitZeroMeters(estimate)
    this.#lastInput = inputOf(meters)
    this.#text = this.#audio = 0
    this.#add(meters, this.#attributes)
    this.#addServed(servedOf(id, undefined, { service_tier: this.#tiers }))
    this.#setUsage(!isReported)
  }
  /** The charge of the session names all of them. */
  get #tiers(): string | undefined {
    const tiers = [...this.#parts.values()].flatMap(({ attributes }) =>
      attributes.service_tier === undefined ? [] : [String(attributes.service_tier)],
    )
    return tiers.length > 0 ? tiers.join(', ') : undefined
  }
}
const SESSION_USAGE: Slot<SessionUsage> = { name: 'session-usage' }

const ownNames = withOwnNames(AUDIO_NAMES)
/** A model that has a price for seconds alone is the one that transcribes. */
const transcriptMetersOf = (usage: Fields, prices: PricedMeters | undefined): Meters => {
  const bySeconds = prices?.has('seconds') && !prices.has('transcription_seconds')
  return {
    transcription_input: count(usage.input_tokens),
    transcription_output: count(usage.output_tokens),
    [bySeconds ? 'seconds' : 'transcription_seconds']: quantity(usage.seconds),
  }
}

/** `input_tokens` includes text, audio and images, and the cached tokens of each. */
const metersOf = (usage: Fields): Meters => {
  const inputDetails = lenientObject(usage, 'input_token_details')
  const cachedDetails = lenientObject(inputDetails, 'cached_tokens_details')
  const cached = Math.min(count(inputDetails.cached_tokens), count(usage.input_tokens))
  const cachedAudio = Math.min(count(cachedDetails.audio_tokens), cached)
  const cachedImage = Math.min(count(cachedDetails.image_tokens), cached - cachedAudio)
  const fresh = (name: string): number =>
    Math.max(0, count(inputDetails[name]) - count(cachedDetails[name]))
  const rest = count(usage.input_tokens) - cached
  const audioInput = Math.min(fresh('audio_tokens'), rest)
  const imageInput = Math.min(fresh('image_tokens'), rest - audioInput)
  const output = count(usage.output_tokens)
  const outputDetails = lenientObject(usage, 'output_token_details')
  const audioOutput = Math.min(count(outputDetails.audio_tokens), output)
  const imageOutput = Math.min(count(outputDetails.image_tokens), output - audioOutput)
  const text = output - audioOutput - imageOutput
  const thinking = Math.min(count(outputDetails.reasoning_tokens), text)
  return omitZeroMeters({
    input: rest - audioInput - imageInput,
    cached: cached - cachedAudio - cachedImage,
    cached_audio: cachedAudio,
    cached_image: cachedImage,
    audio_input: audioInput,
    image_input: imageInput,
    output: text - thinking,
    thinking,
    audio_output: audioOutput,
    image_output: imageOutput,
  })
}
const inputOf = (meters: Meters): Meters =>
  Object.fromEntries(PROMPT_METERS.map(meter => [meter, meters[meter] ?? 0]))
/** A response is priced by its own attributes. */
const addPart = (parts: Map<string, UsagePart>, meters: Meters, attributes: Attributes): void => {
  const key = JSON.stringify(attributes)
  const earlier = parts.get(key)?.meters ?? {}
  parts.set(key, { meters: addMeters(earlier, meters), attributes })
}
const addMeters = (one: Meters, other: Meters): Meters => {
  const sum: { [meter: string]: number } = { ...one }
  for (const [meter, amount] of Object.entries(other))
    sum[meter] = (one[meter as Meter] ?? 0) + amount
  return sum
}
