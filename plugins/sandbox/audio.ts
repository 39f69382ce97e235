/** The sandbox on OpenAI's endpoints for sound: a note for every text, a text for every recording. Pure. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/sse.ts'
import { SOUNDS } from './sound.ts'
import { type Fields, fieldsIn, listIn, numberIn, textIn } from './voice.ts'

/** An answer in one piece, or in several, one for each beat. */
export interface Sounded {
  readonly type: string
  readonly body: Json | Bytes
  readonly beats?: readonly Bytes[]
}

/** `fields`: what the request says, a form or not. Undefined: nothing of the sandbox answers it. */
export const sounded = (path: string, fields: Fields, model: string): Sounded | undefined => {
  if (/\/audio\/speech$/.test(path)) return spoken(fields)
  return /\/audio\/trans(?:cription|lation)s$/.test(path) ? written(fields, model) : undefined
}

/** Letters read aloud in a second, a piece of sound (s), tokens a second of it. */
const SPEED = 15
const LONGEST = 20
const SPOKEN = 20

const spoken = ({ input, response_format, stream_format }: Fields): Sounded | undefined => {
  const sound = SOUNDS[textIn(response_format) || 'mp3']
  if (!sound) return undefined
  const letters = textIn(input).length
  const seconds = Math.min(Math.max(1, letters / SPEED), LONGEST)
  const bytes = sound.make(seconds)
  if (stream_format !== 'sse') return { type: sound.type, body: bytes }
  const [read, said] = [Math.ceil(letters / 4), Math.ceil(seconds * SPOKEN)]
  const usage = { input_tokens: read, output_tokens: said, total_tokens: read + said }
  const half = Math.ceil(bytes.length / 6) * 3 // whole groups of base64
  const pieces = [bytes.subarray(0, half), bytes.subarray(half)]
  const deltas = pieces.map(each => ({ type: 'speech.audio.delta', audio: base64(each) }))
  return events([...deltas, { type: 'speech.audio.done', usage }])
}
const base64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64')

const written = (fields: Fields, model: string): Sounded => {
  const [file] = listIn(fields.file).map(fieldsIn)
  const bytes = numberIn(file?.bytes) ?? 0
  const text = `This is the sandbox answering as ${model}; no upstream was asked. You sent ${bytes} bytes.`
  const usage = { type: 'duration', seconds: 1 }
  if (fields.stream === true) {
    const deltas = text.split(/(?<= )/).map(delta => ({ type: 'transcript.text.delta', delta }))
    return events([...deltas, { type: 'transcript.text.done', text, usage }])
  }
  return (WRITTEN[textIn(fields.response_format)] ?? plain)(text, usage)
}
const plain = (text: string, usage: Fields): Sounded => json({ text, usage })
const json = (body: Json): Sounded => ({ type: 'application/json', body })
const words = (type: string, text: string): Sounded => ({ type, body: Buffer.from(text) })
const SEGMENT = { id: 0, start: 0, end: 1 }
const WRITTEN: Readonly<Record<string, (text: string, usage: Fields) => Sounded>> = {
  text: text => words('text/plain; charset=utf-8', `${text}\n`),
  srt: text => words('text/plain; charset=utf-8', `1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`),
  vtt: text => words('text/vtt; charset=utf-8', `WEBVTT\n\n00:00.000 --> 00:01.000\n${text}\n\n`),
  verbose_json: (text, usage) =>
    json({
      ...{ task: 'transcribe', language: 'english', duration: 1, text, usage },
      segments: [{ ...SEGMENT, text }],
    }),
  diarized_json: (text, usage) =>
    json({
      ...{ task: 'transcribe', duration: 1, text, usage },
      segments: [{ ...SEGMENT, type: 'transcript.text.segment', id: 'seg_0', speaker: 'A', text }],
    }),
}
const events = (
  list: readonly { readonly type: string; readonly [key: string]: Json }[],
): Sounded => ({
  ...{ type: 'text/event-stream', body: null },
  beats: list.map(each => writeEvent(each.type, each)),
})
