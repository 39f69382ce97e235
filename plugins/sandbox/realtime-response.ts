/** One response of a realtime session: its events in the order of the Realtime API. Pure. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { AUDIO_ENCODERS } from './audio-file.ts'
import type { Fields } from './sandbox-format.ts'
import { wordsOf } from './words.ts'

export interface RealtimeAnswer {
  readonly text: string
  /** Makes the id of the response and of its item: `resp_…`, `item_…`. */
  makeId(prefix: string): string
  readonly modalities: readonly Json[]
  /** `audio/pcm`, `audio/pcmu` or `audio/pcma`. */
  readonly audioType: string
  readonly inputTokens: { readonly text: number; readonly audio: number }
  /** Members that the response repeats. */
  readonly facts: Fields
  readonly previousItem: string | null
}

/** s; tokens for a second; bytes of a delta. */
const TONE_SECONDS = 1
const TOKENS_PER_SECOND = 20
const DELTA_BYTES = 12_000
const TELEPHONE_RATE = 8_000
/** The tone, or silence if the sandbox has no encoder. */
const SOUNDS: Readonly<Record<string, () => Bytes>> = {
  'audio/pcmu': () => Buffer.alloc(TONE_SECONDS * TELEPHONE_RATE, 0xff),
  'audio/pcma': () => Buffer.alloc(TONE_SECONDS * TELEPHONE_RATE, 0xd5),
}
const tone = (): Bytes => AUDIO_ENCODERS.pcm?.make(TONE_SECONDS) ?? Buffer.alloc(0)

/** The events without their ids, and the finished item, which the conversation keeps. */
export const responseEvents = (
  answer: RealtimeAnswer,
): { readonly events: readonly Fields[]; readonly item: Fields } => {
  const { text, makeId, modalities, facts, previousItem } = answer
  const response_id = makeId('resp')
  const hasAudio = modalities.includes('audio')
  const item = { id: makeId('item'), object: 'realtime.item', type: 'message', role: 'assistant' }
  const started = { ...item, status: 'in_progress', content: [] }
  const finished = {
    ...item,
    status: 'completed',
    content: [
      hasAudio ? { type: 'output_audio', transcript: text } : { type: 'output_text', text },
    ],
  }
  const response = { object: 'realtime.response', id: response_id, ...facts }
  const at = { response_id, output_index: 0 }
  const place = { ...at, item_id: item.id, content_index: 0 }
  const part = (whole: string): Json =>
    hasAudio ? { type: 'audio', transcript: whole } : { type: 'text', text: whole }
  const events = [
    { type: 'response.created', response: { ...response, ...STARTED } },
    { type: 'response.output_item.added', ...at, item: started },
    { type: 'conversation.item.added', previous_item_id: previousItem, item: started },
    { type: 'response.content_part.added', ...place, part: part('') },
    ...(hasAudio ? audioEvents(answer, place) : textEvents(text, place)),
    { type: 'response.content_part.done', ...place, part: part(text) },
    { type: 'conversation.item.done', previous_item_id: previousItem, item: finished },
    { type: 'response.output_item.done', ...at, item: finished },
    {
      type: 'response.done',
      response: { ...response, ...COMPLETED, output: [finished], usage: usageOf(answer, hasAudio) },
    },
  ]
  return { events, item: finished }
}
const STARTED: Fields = { status: 'in_progress', status_details: null, output: [], usage: null }
const COMPLETED: Fields = { status: 'completed', status_details: null }

const textEvents = (text: string, place: Fields): readonly Fields[] => [
  ...wordsOf(text).map(delta => ({ type: 'response.output_text.delta', ...place, delta })),
  { type: 'response.output_text.done', ...place, text },
]
const audioEvents = ({ text, audioType }: RealtimeAnswer, place: Fields): readonly Fields[] => {
  const sound = Buffer.from((SOUNDS[audioType] ?? tone)())
  const deltas = Array.from({ length: Math.ceil(sound.length / DELTA_BYTES) }, (_, index) =>
    sound.subarray(index * DELTA_BYTES, (index + 1) * DELTA_BYTES).toString('base64'),
  )
  const transcript = 'response.output_audio_transcript'
  return [
    ...wordsOf(text).map(delta => ({ type: `${transcript}.delta`, ...place, delta })),
    ...deltas.map(delta => ({ type: 'response.output_audio.delta', ...place, delta })),
    { type: 'response.output_audio.done', ...place },
    { type: `${transcript}.done`, ...place, transcript: text },
  ]
}

const usageOf = ({ text, inputTokens: input }: RealtimeAnswer, hasAudio: boolean): Fields => {
  const output = {
    text_tokens: wordsOf(text).length,
    audio_tokens: hasAudio ? TONE_SECONDS * TOKENS_PER_SECOND : 0,
  }
  const [inputTokens, outputTokens] = [
    input.text + input.audio,
    output.text_tokens + output.audio_tokens,
  ]
  return {
    total_tokens: inputTokens + outputTokens,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    input_token_details: {
      text_tokens: input.text,
      audio_tokens: input.audio,
      image_tokens: 0,
      cached_tokens: 0,
      cached_tokens_details: { text_tokens: 0, audio_tokens: 0, image_tokens: 0 },
    },
    output_token_details: output,
  }
}
