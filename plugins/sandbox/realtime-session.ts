/** One realtime session of the sandbox: its state, and the events that answer a client's events.
 *  Knows no sockets. */
import { isFields, parseJson } from '../formats/fields.ts'
import { greeting } from './canned-answer.ts'
import { responseEvents } from './realtime-response.ts'
import { type Fields, fieldsIn, listIn, textIn } from './sandbox-format.ts'

/** Bytes of input audio for one token: 100 ms of 24 kHz, 16 bits. */
const AUDIO_TOKEN_BYTES = 4_800
const BYTES_PER_TOKEN = 4
const SESSION_SECONDS = 3_600
/** Characters of the items of a conversation. */
const MAX_CONVERSATION = 1024 * 1024

const AUDIO_FORMAT = { type: 'audio/pcm', rate: 24_000 }
const DEFAULTS: Fields = {
  type: 'realtime',
  object: 'realtime.session',
  output_modalities: ['audio'],
  instructions: '',
  tools: [],
  tool_choice: 'auto',
  max_output_tokens: 'inf',
  tracing: null,
  truncation: 'auto',
  prompt: null,
  include: null,
  audio: {
    input: {
      format: AUDIO_FORMAT,
      transcription: null,
      noise_reduction: null,
      turn_detection: null,
    },
    output: { format: AUDIO_FORMAT, voice: 'alloy', speed: 1 },
  },
}

type Handle = (event: Fields) => readonly Fields[]

export class RealtimeSession {
  readonly #model: string
  readonly #id: string
  readonly #items = new Map<string, Fields>()
  /** Characters of all items. */
  #itemSize = 0
  #session: Fields
  #idCount = 0
  /** Bytes of audio that were appended and not committed, and those of all committed items. */
  #appendedBytes = 0
  #committedBytes = 0

  /** `model`: the upstream's name; `id`: unique, without a prefix; `now`: seconds since 1970. */
  constructor(model: string, id: string, now: number) {
    this.#model = model
    this.#id = id
    const expires_at = now + SESSION_SECONDS
    this.#session = { ...DEFAULTS, id: `sess_${id}`, model, expires_at }
  }
  /** The first event. */
  start(): Fields {
    return this.#stamp({ type: 'session.created', session: this.#session })
  }
  /** Answers one message of the client. `isSending`: earlier answers are still being sent. */
  handle(message: string, isSending = false): readonly Fields[] {
    const event = parseJson(message)
    if (!isFields(event)) return [this.#error('The message is not a JSON object.', {}, null)]
    const handle = Object.hasOwn(this.#handlers, textIn(event.type))
      ? this.#handlers[textIn(event.type)]
      : undefined
    const name = textIn(event.type).slice(0, 64)
    const isActive = isSending && name === 'response.create'
    const events = isActive
      ? [this.#error('The conversation has an active response.', event, null)]
      : (handle?.(event) ?? [this.#error(`Invalid value: '${name}'.`, event, 'type')])
    return events.map(each => this.#stamp(each))
  }
  readonly #handlers: Readonly<Record<string, Handle>> = {
    'session.update': ({ session }) => {
      this.#session = merge(this.#session, fieldsIn(session))
      return [{ type: 'session.updated', session: this.#session }]
    },
    'conversation.item.create': event => this.#addItem(fieldsIn(event.item)),
    'conversation.item.retrieve': event => {
      const item = this.#items.get(textIn(event.item_id))
      return [item ? { type: 'conversation.item.retrieved', item } : this.#unknownItem(event)]
    },
    'conversation.item.delete': event => {
      const item_id = textIn(event.item_id)
      if (!this.#items.has(item_id)) return [this.#unknownItem(event)]
      this.#forgetItem(item_id)
      return [{ type: 'conversation.item.deleted', item_id }]
    },
    'conversation.item.truncate': ({ item_id = '', content_index = 0, audio_end_ms = 0 }) => [
      { type: 'conversation.item.truncated', item_id, content_index, audio_end_ms },
    ],
    'input_audio_buffer.append': ({ audio }) => {
      this.#appendedBytes += Buffer.byteLength(textIn(audio), 'base64')
      return []
    },
    'input_audio_buffer.clear': () => {
      this.#appendedBytes = 0
      return [{ type: 'input_audio_buffer.cleared' }]
    },
    'input_audio_buffer.commit': event => this.#commitAudio(event),
    'response.create': ({ response }) => this.#respond(fieldsIn(response)),
    'response.cancel': event => [this.#error('There is no active response.', event, null)],
  }
  get #lastItemId(): string | null {
    return [...this.#items.keys()].at(-1) ?? null
  }
  #addItem(fields: Fields): readonly Fields[] {
    const previous_item_id = this.#lastItemId
    const id = textIn(fields.id) || this.#makeId('item')
    const item = { object: 'realtime.item', status: 'completed', ...fields, id }
    this.#storeItem(item)
    return ['added', 'done'].map(state => ({
      type: `conversation.item.${state}`,
      previous_item_id,
      item,
    }))
  }
  #commitAudio(event: Fields): readonly Fields[] {
    if (this.#appendedBytes === 0) return [this.#error('The audio buffer is empty.', event, null)]
    const previous_item_id = this.#lastItemId
    const item_id = this.#makeId('item')
    this.#committedBytes += this.#appendedBytes
    this.#appendedBytes = 0
    const content = [{ type: 'input_audio', transcript: null }]
    return [
      { type: 'input_audio_buffer.committed', previous_item_id, item_id },
      ...this.#addItem({ id: item_id, type: 'message', role: 'user', content }),
    ]
  }
  #respond(options: Fields): readonly Fields[] {
    const { audio, output_modalities, max_output_tokens, instructions } = this.#session
    const output = fieldsIn(fieldsIn(merge({ audio: audio ?? {} }, options).audio).output)
    const modalities = options.output_modalities ?? output_modalities ?? []
    const items =
      options.input === undefined ? [...this.#items.values()] : listIn(options.input).map(fieldsIn)
    const question = items.findLast(({ role }) => role === 'user') ?? {}
    const { events, item } = responseEvents({
      text: greeting(this.#model, textOf(question)),
      makeId: prefix => this.#makeId(prefix),
      modalities: listIn(modalities),
      audioType: textIn(fieldsIn(output.format).type),
      inputTokens: {
        text: Math.ceil([instructions, ...items.map(textOf)].join('').length / BYTES_PER_TOKEN),
        audio: Math.ceil(this.#committedBytes / AUDIO_TOKEN_BYTES),
      },
      facts: {
        conversation_id: `conv_${this.#id}`,
        output_modalities: modalities,
        max_output_tokens: options.max_output_tokens ?? max_output_tokens ?? 'inf',
        audio: { output: { format: output.format ?? null, voice: output.voice ?? null } },
        metadata: options.metadata ?? null,
      },
      previousItem: this.#lastItemId,
    })
    this.#storeItem(item)
    return events
  }
  /** The oldest items leave a conversation that is too long, as with the provider. */
  #storeItem(item: Fields): void {
    this.#forgetItem(textIn(item.id))
    this.#items.set(textIn(item.id), item)
    this.#itemSize += sizeOf(item)
    for (const id of this.#items.keys()) {
      if (this.#itemSize <= MAX_CONVERSATION) return
      this.#forgetItem(id)
    }
  }
  #forgetItem(id: string): void {
    const item = this.#items.get(id)
    if (item) this.#itemSize -= sizeOf(item)
    this.#items.delete(id)
  }
  #unknownItem(event: Fields): Fields {
    return this.#error(`There is no item '${textIn(event.item_id)}'.`, event, 'item_id')
  }
  #error(message: string, { event_id = null }: Fields, param: string | null): Fields {
    const error = { type: 'invalid_request_error', code: 'invalid_value', message, param, event_id }
    return { type: 'error', error }
  }
  #makeId(prefix: string): string {
    return `${prefix}_${this.#id}${this.#idCount++}`
  }
  #stamp(event: Fields): Fields {
    return { event_id: this.#makeId('event'), ...event }
  }
}

/** Members of the second object replace those of the first, inside nested objects as well. */
const merge = (base: Fields, changes: Fields): Fields => {
  const merged: { [key: string]: Fields[string] } = { ...base }
  for (const [key, value] of Object.entries(changes)) {
    const before = base[key]
    merged[key] = isFields(before) && isFields(value) ? merge(before, value) : value
  }
  return merged
}
const sizeOf = (item: Fields): number => JSON.stringify(item).length
/** The text of an item. */
const textOf = ({ content }: Fields): string =>
  listIn(content)
    .map(part => textIn(fieldsIn(part).text) || textIn(fieldsIn(part).transcript))
    .join('')
