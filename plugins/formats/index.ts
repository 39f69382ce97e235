/** Every wire format by its name. A further one is a folder and a line here. */

import type { Json } from '../../engine/plugin.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { embeddingFormats } from './embedding.ts'
import type { Format, TargetFormat } from './format.ts'
import { googleGemini } from './google-gemini/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiImages } from './openai-images/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { openaiSpeech } from './openai-speech/index.ts'
import { openaiTranscription } from './openai-transcription/index.ts'
import { recraft } from './recraft/index.ts'

const byName = <T extends { readonly name: string }>(of: readonly T[]): ReadonlyMap<string, T> =>
  new Map(of.map(each => [each.name, each]))

/** Those that clients speak. */
export const formats: ReadonlyMap<string, Format> = byName([
  ...[openaiChat, openaiResponses, anthropicMessages, googleGemini, openaiImages],
  ...[openaiSpeech, openaiTranscription],
])
/** What clients of a route speak, by its option `translate`. */
export const formatOf = (translate: Json | undefined): Format | undefined => {
  const name =
    typeof translate === 'object' ? (translate as { format?: Json } | null)?.format : translate
  return formats.get(String(name))
}
const isTarget = (format: Format): format is Format & TargetFormat => format.codec !== undefined
/** Those that targets are asked in, in place of the client's own. */
export const targetFormats: ReadonlyMap<string, TargetFormat> = byName<TargetFormat>([
  ...[...formats.values()].filter(isTarget),
  recraft,
])
/** By their names, all that an upstream may say it speaks. */
export const spokenFormats: readonly string[] = [
  ...new Set([...targetFormats.keys(), ...formats.keys(), ...embeddingFormats]),
]
