/** Encodes answers for clients of generateContent, whole and streamed. */
import type { Json } from '../../engine/plugin.ts'
import type { Answer, Part, Stop } from '../../plugins/formats/answer.ts'
import { partsOf as unrolled } from '../../plugins/formats/collect.ts'
import type { Content } from '../../plugins/formats/content.ts'
import { codecOf, contextWith, streamed } from './codec.ts'
import type { Gemini } from './gemini.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)
export const path = '/v1beta/models/asked:streamGenerateContent'
export const END: Stop = { reason: 'end' }
export type Written = Gemini & { readonly [name: string]: Json }
export const whole = (
  content: readonly Content[],
  stop: Stop = END,
  more: Partial<Answer> = {},
): Written => codec.encodeAnswer({ choices: [{ content, stop }], ...more }, contextWith()) as never
export const listed = (parts: readonly Part[]): readonly Written[] =>
  JSON.parse(streamed(NAME, parts, { path })) as Written[]
export const stream = (content: readonly Content[], stop: Stop = END, more: Partial<Answer> = {}) =>
  listed(unrolled({ choices: [{ content, stop }], ...more }))
export const partsIn = (chunks: readonly Written[]) =>
  chunks.flatMap(({ candidates = [] }) => candidates.flatMap(each => each.content?.parts ?? []))
