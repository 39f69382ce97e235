/** Runs one format's codec alone: requests with their dropped fields, streams as parts, parts as
 *  streams. */
import type { Json } from '../../../engine/plugin.ts'
import type { Fields } from '../../../plugins/formats/fields.ts'
import type { Answer, Part } from '../../../plugins/formats/hub/answer.ts'
import { Collector } from '../../../plugins/formats/hub/answer-parts.ts'
import type {
  Codec,
  DroppedFields,
  EncodeContext,
  TargetFacts,
} from '../../../plugins/formats/hub/codec.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'

export const codecOf = (name: string): Codec => {
  const codec = formats.get(name)?.codec
  if (!codec) throw new Error(`${name} has no codec`)
  return codec
}

/** Collects the dropped fields. */
export interface DroppedFieldList extends DroppedFields {
  readonly fields: readonly string[]
}
export const collectDropped = (): DroppedFieldList => {
  const fields: string[] = []
  return { fields, add: field => void fields.push(field) }
}

/** Decodes a request and returns the prompt with the dropped fields. */
export const decodePrompt = (name: string, body: Json, path = '/') => {
  const dropped = collectDropped()
  const prompt = codecOf(name).decodePrompt(body as Fields, path, dropped)
  return { prompt, dropped: dropped.fields }
}
export const encodePrompt = (name: string, prompt: Prompt, facts: Partial<TargetFacts> = {}) => {
  const dropped = collectDropped()
  const request = codecOf(name).encodePrompt(
    prompt,
    { name: 'model', traits: {}, ...facts },
    dropped,
  )
  return {
    ...request,
    body: request.body as { readonly [key: string]: never },
    dropped: dropped.fields,
  }
}

export const PROMPT: Prompt = {
  turns: [],
  tools: [],
  settings: {},
  stream: true,
  includeUsage: true,
  body: {},
}
export const contextWith = (context: Partial<EncodeContext> = {}): EncodeContext => ({
  id: '0123456789abcdef',
  model: 'asked',
  now: 1_700_000_000,
  prompt: PROMPT,
  path: '/',
  ...context,
})

/** Decodes an upstream's stream; `hasEnded`: it is complete, with or without its terminator. */
export const decodeParts = (name: string, stream: string | Uint8Array) => {
  const decoder = codecOf(name).decodeStream()
  const parts: Part[] = []
  const emit = (part: Part): void => void parts.push(part)
  for (const event of eventsIn(Buffer.from(stream)))
    if (event.data !== undefined) decoder.push(event, emit)
  return { parts, hasEnded: parts.at(-1)?.type === 'end' || decoder.close(emit) }
}
export const decodeStream = (name: string, stream: string | Uint8Array): Answer =>
  assembleParts(decodeParts(name, stream).parts)
export const assembleParts = (parts: readonly Part[]): Answer => {
  const collector = new Collector()
  for (const part of parts) collector.add(part)
  return collector.answer()
}
export const encodeStream = (
  name: string,
  parts: readonly Part[],
  context: Partial<EncodeContext> = {},
): string => {
  const encoder = codecOf(name).encodeStream(contextWith(context))
  return parts.map(part => encoder.push(part)).join('')
}
