/** All wire formats by name. To add one, add a folder and a line here. */

import type { Json } from '../../engine/plugin.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { cohereChat } from './cohere-chat/index.ts'
import { cohereRerank } from './cohere-rerank/index.ts'
import { embeddingFormats } from './embedding.ts'
import type { Format, TargetFormat } from './format.ts'
import { googleGemini } from './google-gemini/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiImages } from './openai-images/index.ts'
import { openaiModerations } from './openai-moderations/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { openaiSpeech } from './openai-speech/index.ts'
import { openaiTranscription } from './openai-transcription/index.ts'
import { recraft } from './recraft/index.ts'

const byName = <T extends { readonly name: string }>(items: readonly T[]): ReadonlyMap<string, T> =>
  new Map(items.map(item => [item.name, item]))

/** Formats that clients use. */
export const formats: ReadonlyMap<string, Format> = byName([
  openaiChat,
  openaiResponses,
  anthropicMessages,
  googleGemini,
  openaiImages,
  openaiSpeech,
  openaiTranscription,
  openaiModerations,
  cohereRerank,
])
/** The format of a route's clients, from its option `translate`. */
export const formatOf = (translate: Json | undefined): Format | undefined => {
  const name =
    typeof translate === 'object' ? (translate as { format?: Json } | null)?.format : translate
  return formats.get(String(name))
}
const isTarget = (format: Format): format is Format & TargetFormat => format.codec !== undefined
/** Formats in which targets can be called in place of the client's own. */
export const targetFormats: ReadonlyMap<string, TargetFormat> = byName<TargetFormat>([
  ...[...formats.values()].filter(isTarget),
  cohereChat,
  recraft,
])
/** All names that an upstream may list in its option `formats`. */
export const knownFormats: readonly string[] = [
  ...new Set([...targetFormats.keys(), ...formats.keys(), ...embeddingFormats]),
]
