/** An answer in the cache: decoded from what an upstream sent, and encoded again in the format in
 *  which a call is sent, plain or streamed. Pure. */
import type { Bytes } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { Answer } from '../formats/hub/answer.ts'
import { Collector, partsOf } from '../formats/hub/answer-parts.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { Content } from '../formats/hub/content.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { eventsIn } from '../formats/stream/sse.ts'

export interface Entry {
  /** The id of the call that an upstream answered. */
  readonly request: string
  /** ms since 1970. */
  readonly at: number
  /** The answer of the hub as JSON. */
  readonly text: string
  /** How similar the text that it answered is to that of the request, at most 1; absent: equal. */
  readonly similarity?: number
}

/** Undefined for an answer that is not whole, did not end by itself, calls tools, or has more than
 *  text. */
export const decodeWhole = (codec: Codec, body: Bytes, isStream: boolean): Answer | undefined => {
  try {
    const answer = isStream ? joinStream(codec, body) : decodePlain(codec, body)
    return answer && isStorable(answer) ? answer : undefined
  } catch {
    return undefined
  }
}
const decodePlain = (codec: Codec, body: Bytes): Answer | undefined => {
  const fields = parseJson(Buffer.from(body).toString())
  return isFields(fields) ? codec.decodeAnswer(fields) : undefined
}
const joinStream = (codec: Codec, body: Bytes): Answer | undefined => {
  const collector = new Collector()
  const decoder = codec.decodeStream()
  const emit = (part: Parameters<Collector['add']>[0]) => collector.add(part)
  for (const event of eventsIn(body)) if (event.data !== undefined) decoder.push(event, emit)
  if (!collector.hasEnded) decoder.close(emit)
  return collector.hasEnded ? collector.answer() : undefined
}
const isStorable = ({ choices, meters }: Answer): boolean =>
  choices.length === 1 &&
  meters !== undefined &&
  choices.every(
    ({ content, stop, logprobs }) =>
      (stop.reason === 'end' || stop.reason === 'sequence') &&
      logprobs === undefined &&
      content.some(({ type }) => type === 'text') &&
      content.every(isText),
  )
const isText = ({ type }: Content): boolean => type === 'text' || type === 'thought'

export interface EncodedAnswer {
  readonly type: string
  readonly body: Bytes
}
/** `prompt`: the request as the upstream would get it; `path`: its path. */
export const encodeEntry = (
  codec: Codec,
  { text }: Entry,
  {
    id,
    model,
    prompt,
    path,
  }: {
    readonly id: string
    readonly model: string
    readonly prompt: Prompt
    readonly path: string
  },
): EncodedAnswer => {
  const answer = JSON.parse(text) as Answer
  const context = { id, model, now: Math.floor(Date.now() / 1_000), prompt, path }
  if (!prompt.stream)
    return {
      type: 'application/json',
      body: Buffer.from(JSON.stringify(codec.encodeAnswer(answer, context))),
    }
  const encoder = codec.encodeStream(context)
  const body = partsOf(answer)
    .map(part => encoder.push(part))
    .join('')
  return { type: encoder.type ?? 'text/event-stream; charset=utf-8', body: Buffer.from(body) }
}
