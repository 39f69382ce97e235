/** Encodes answers for clients of generateContent, whole and streamed. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Answer, Part, Stop } from '../../../../plugins/formats/hub/answer.ts'
import { partsOf as unrolled } from '../../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { codecOf, contextWith, encodeStream } from '../../../helpers/formats/codec.ts'
import type { Gemini } from './reader.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)
export const path = '/v1beta/models/asked:streamGenerateContent'
export const END: Stop = { reason: 'end' }
export type GeminiChunk = Gemini & { readonly [name: string]: Json }
export const encodeWhole = (
  content: readonly Content[],
  stop: Stop = END,
  more: Partial<Answer> = {},
): GeminiChunk =>
  codec.encodeAnswer({ choices: [{ content, stop }], ...more }, contextWith()) as never
export const encodeChunks = (parts: readonly Part[]): readonly GeminiChunk[] =>
  JSON.parse(encodeStream(NAME, parts, { path })) as GeminiChunk[]
export const encodeStreamed = (
  content: readonly Content[],
  stop: Stop = END,
  more: Partial<Answer> = {},
) => encodeChunks(unrolled({ choices: [{ content, stop }], ...more }))
export const partsIn = (chunks: readonly GeminiChunk[]) =>
  chunks.flatMap(({ candidates = [] }) => candidates.flatMap(each => each.content?.parts ?? []))
