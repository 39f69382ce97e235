/** The sandbox on OpenAI's audio endpoints: a tone for speech, a fixed text for transcriptions.
 *  Pure. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/stream/sse.ts'
import { AUDIO_ENCODERS } from './audio-file.ts'
import { type Fields, fieldsIn, listIn, numberIn, textIn } from './sandbox-format.ts'

/** An answer: a body, or the chunks of a stream. */
export interface AudioAnswer {
  readonly type: string
  readonly body: Json | Bytes
  readonly chunks?: readonly Bytes[]
}

/** `fields`: the fields of the request, from JSON or a form. Undefined: the sandbox does not
 *  support the request. */
export const audioAnswer = (
  path: string,
  fields: Fields,
  model: string,
): AudioAnswer | undefined => {
  if (/\/audio\/speech$/.test(path)) return speechAnswer(fields)
  return /\/audio\/trans(?:cription|lation)s$/.test(path)
    ? transcriptionAnswer(fields, model)
    : undefined
}

/** Letters spoken in a second, maximum duration (s), tokens for a second of audio. */
const LETTERS_PER_SECOND = 15
const MAX_SECONDS = 20
const TOKENS_PER_SECOND = 20

const speechAnswer = ({
  input,
  response_format,
  stream_format,
}: Fields): AudioAnswer | undefined => {
  const encoder = AUDIO_ENCODERS[textIn(response_format) || 'mp3']
  if (!encoder) return undefined
  const letters = textIn(input).length
  const seconds = Math.min(Math.max(1, letters / LETTERS_PER_SECOND), MAX_SECONDS)
  const bytes = encoder.make(seconds)
  if (stream_format !== 'sse') return { type: encoder.type, body: bytes }
  const [inputTokens, outputTokens] = [
    Math.ceil(letters / 4),
    Math.ceil(seconds * TOKENS_PER_SECOND),
  ]
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
  const half = Math.ceil(bytes.length / 6) * 3 // whole groups of base64
  const pieces = [bytes.subarray(0, half), bytes.subarray(half)]
  const deltas = pieces.map(each => ({ type: 'speech.audio.delta', audio: base64(each) }))
  return eventAnswer([...deltas, { type: 'speech.audio.done', usage }])
}
const base64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64')

const transcriptionAnswer = (fields: Fields, model: string): AudioAnswer => {
  const [file] = listIn(fields.file).map(fieldsIn)
  const bytes = numberIn(file?.bytes) ?? 0
  const text = `This is the sandbox answering as ${model}; no upstream was called. You sent ${bytes} bytes.`
  const usage = { type: 'duration', seconds: 1 }
  if (fields.stream === true) {
    const deltas = text.split(/(?<= )/).map(delta => ({ type: 'transcript.text.delta', delta }))
    return eventAnswer([...deltas, { type: 'transcript.text.done', text, usage }])
  }
  return (TRANSCRIPTION_FORMATS[textIn(fields.response_format)] ?? plainTranscription)(text, usage)
}
const plainTranscription = (text: string, usage: Fields): AudioAnswer => jsonAnswer({ text, usage })
const jsonAnswer = (body: Json): AudioAnswer => ({ type: 'application/json', body })
const textAnswer = (type: string, text: string): AudioAnswer => ({ type, body: Buffer.from(text) })
const SEGMENT = { id: 0, start: 0, end: 1 }
const TRANSCRIPTION_FORMATS: Readonly<
  Record<string, (text: string, usage: Fields) => AudioAnswer>
> = {
  text: text => textAnswer('text/plain; charset=utf-8', `${text}\n`),
  srt: text =>
    textAnswer('text/plain; charset=utf-8', `1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`),
  vtt: text =>
    textAnswer('text/vtt; charset=utf-8', `WEBVTT\n\n00:00.000 --> 00:01.000\n${text}\n\n`),
  verbose_json: (text, usage) =>
    jsonAnswer({
      task: 'transcribe',
      language: 'english',
      duration: 1,
      text,
      usage,
      segments: [{ ...SEGMENT, text }],
    }),
  diarized_json: (text, usage) =>
    jsonAnswer({
      task: 'transcribe',
      duration: 1,
      text,
      usage,
      segments: [{ ...SEGMENT, type: 'transcript.text.segment', id: 'seg_0', speaker: 'A', text }],
    }),
}
const eventAnswer = (
  list: readonly { readonly type: string; readonly [key: string]: Json }[],
): AudioAnswer => ({
  type: 'text/event-stream',
  body: null,
  chunks: list.map(each => writeEvent(each.type, each)),
})
