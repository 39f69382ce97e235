/** All wire formats by name. To add one, add a folder and a line here. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { bedrockConverse } from './bedrock-converse/index.ts'
import { cohereChat } from './cohere-chat/index.ts'
import { cohereRerank } from './cohere-rerank/index.ts'
import { embeddingFormats } from './embedding.ts'
import type { Format, TargetFormat } from './format.ts'
import { googleGemini } from './google-gemini/index.ts'
import { googleInteractions } from './google-interactions/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiCompletions } from './openai-completions/index.ts'
import { openaiImages } from './openai-images/index.ts'
import { openaiModerations } from './openai-moderations/index.ts'
import { openaiCompaction } from './openai-responses/compaction.ts'
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
  googleInteractions,
  openaiCompletions,
  openaiCompaction,
  openaiImages,
  openaiSpeech,
  openaiTranscription,
  openaiModerations,
  cohereRerank,
])
/** The format of a route's clients, from its option `translate`. */
export const formatOf = (
  translate: Json | undefined,
  clients: ReadonlyMap<string, Format> = formats,
): Format | undefined => {
  const name =
    typeof translate === 'object' ? (translate as { format?: Json } | null)?.format : translate
  return clients.get(String(name))
}
const isTarget = (format: Format): format is Format & TargetFormat =>
  format.codec !== undefined && format.base === undefined
/** Formats in which targets can be called in place of the client's own. */
export const targetFormats: ReadonlyMap<string, TargetFormat> = byName<TargetFormat>([
  ...[...formats.values()].filter(isTarget),
  cohereChat,
  bedrockConverse,
  recraft,
])
/** All names that an upstream may list in its option `formats`. */
export const knownFormats: readonly string[] = [
  ...new Set([...targetFormats.keys(), ...formats.keys(), ...embeddingFormats]),
]

/** The formats of one version of the configuration. */
export interface Formats {
  readonly clients: ReadonlyMap<string, Format>
  readonly targets: ReadonlyMap<string, TargetFormat>
}
const SHIPPED_FORMATS: Formats = { clients: formats, targets: targetFormats }

/** The shipped formats and those that plugins bring. A format with facts about its clients is one
 *  for clients. */
export const formatsOf = ({ formats: own }: Partial<Pick<HostBase, 'formats'>>): Formats => {
  const added = Object.values(own ?? {}) as readonly (Format | TargetFormat)[]
  if (added.length === 0) return SHIPPED_FORMATS
  const clients = added.filter(each => 'dialect' in each)
  const targets = added.filter(each => each.codec !== undefined) as readonly TargetFormat[]
  return {
    clients: byName([...formats.values(), ...clients]),
    targets: byName([...targetFormats.values(), ...targets]),
  }
}
