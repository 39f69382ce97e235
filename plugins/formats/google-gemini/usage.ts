/** Converts usage counts to and from the gateway's meters. `promptTokenCount` includes cached
 *  tokens, audio and images, and excludes tokens that tools added; thoughts are counted beside the
 *  answer. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, omitUndefined } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { type ServedFacts, servedOf } from '../served.ts'

export const metersOf = (usage: Fields): Meters => {
  const prompt = count(usage.promptTokenCount)
  const cached = Math.min(count(usage.cachedContentTokenCount), prompt)
  const inputTokens = prompt + count(usage.toolUsePromptTokenCount) - cached
  // Cached audio tokens are counted as cached.
  const audioTokens =
    tokensOfModality(usage.promptTokensDetails, 'AUDIO') -
    tokensOfModality(usage.cacheTokensDetails, 'AUDIO')
  const audioInput = Math.min(Math.max(0, audioTokens), inputTokens)
  const outputTokens = count(usage.candidatesTokenCount)
  const audioOutput = Math.min(
    tokensOfModality(usage.candidatesTokensDetails, 'AUDIO'),
    outputTokens,
  )
  return omitZeroMeters({
    input: inputTokens - audioInput,
    cached,
    audio_input: audioInput,
    output: outputTokens - audioOutput,
    thinking: count(usage.thoughtsTokenCount),
    audio_output: audioOutput,
  })
}
const tokensOfModality = (details: Json | undefined, name: string): number => {
  if (!Array.isArray(details)) return 0
  const detail = details.find((each: Json) => isFields(each) && each.modality === name)
  return isFields(detail) ? count(detail.tokenCount) : 0
}

/** Some events of a stream carry a traffic type without counts. */
export const hasCounts = (usage: Json | undefined): usage is Fields =>
  isFields(usage) && ('promptTokenCount' in usage || 'totalTokenCount' in usage)

/** Writes the gateway's meters so that the total is the sum of its parts. */
export const countsOf = (meters: Meters): Fields => {
  const { input = 0, cached = 0, cache_write = 0, cache_write_1h = 0 } = meters
  const { audio_input: audioInput = 0, image_input = 0, audio_output: audioOutput = 0 } = meters
  const { output = 0, thinking = 0 } = meters
  const inputTokens = input + cached + cache_write + cache_write_1h + image_input
  const prompt = inputTokens + audioInput
  const outputTokens = output + audioOutput
  return omitUndefined({
    promptTokenCount: prompt,
    cachedContentTokenCount: cached > 0 ? cached : undefined,
    candidatesTokenCount: outputTokens,
    thoughtsTokenCount: thinking > 0 ? thinking : undefined,
    totalTokenCount: prompt + outputTokens + thinking,
    promptTokensDetails: detailsOf(inputTokens, audioInput),
    candidatesTokensDetails: audioOutput > 0 ? detailsOf(output, audioOutput) : undefined,
  })
}
const detailsOf = (text: number, audio: number): Json => [
  ...(text > 0 ? [{ modality: 'TEXT', tokenCount: text }] : []),
  ...(audio > 0 ? [{ modality: 'AUDIO', tokenCount: audio }] : []),
]

/** Types of traffic at Vertex AI, as service tiers. */
const TRAFFIC_TIERS: ReadonlyMap<Json | undefined, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['ON_DEMAND_OFFPEAK', 'off_peak'],
  ['PROVISIONED_THROUGHPUT', 'provisioned'],
])
export const served: ServedFacts = {
  members: ['responseId', 'modelVersion'],
  mark: 'usageMetadata"',
  read(fields) {
    const { serviceTier, trafficType } = lenientObject(fields, 'usageMetadata')
    const tier = typeof serviceTier === 'string' ? serviceTier.toLowerCase() : undefined
    const attributes = { service_tier: tier ?? TRAFFIC_TIERS.get(trafficType) }
    return servedOf(fields.responseId, fields.modelVersion, attributes)
  },
}
