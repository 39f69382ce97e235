/** Converts usage counts to and from the gateway's meters. `promptTokenCount` includes cached
 *  tokens, audio and images, and excludes tokens that tools added; thoughts are counted beside the
 *  answer. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, omitUndefined } from '../fields.ts'
import { omitZeroMeters, type UsageFacts } from '../format.ts'
import { firstNamed, type ServedFacts, servedOf } from '../served.ts'
import { withOwnNames } from '../stream/count-names.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { trafficTierOf } from '../tiers.ts'
import {
  cachedTokensOf,
  cacheWriteTokensOf,
  MODALITY_METERS,
  metersByModality,
} from '../token-meters.ts'
import { hostedUsage } from './hosted-tools.ts'

const ownNames = withOwnNames({ input: 'promptTokenCount', output: 'candidatesTokenCount' })

/** Live answers count under `response…`. */
export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  return omitZeroMeters(
    metersByModality({
      prompt: counted(usage.promptTokenCount, usage.promptTokensDetails),
      cached: counted(usage.cachedContentTokenCount, usage.cacheTokensDetails),
      tools: counted(usage.toolUsePromptTokenCount, usage.toolUsePromptTokensDetails),
      output: counted(
        count(usage.candidatesTokenCount) || usage.responseTokenCount,
        usage.candidatesTokensDetails ?? usage.responseTokensDetails,
      ),
      thinking: count(usage.thoughtsTokenCount),
    }),
  )
}
const counted = (tokens: Json | undefined, details: Json | undefined) => ({
  tokens: count(tokens),
  of: (modality: string) => tokensOfModality(details, modality.toUpperCase()),
})
const tokensOfModality = (details: Json | undefined, name: string): number => {
  if (!Array.isArray(details)) return 0
  return details.reduce<number>(
    (sum, each: Json) =>
      isFields(each) && String(each.modality).toUpperCase() === name
        ? sum + count(each.tokenCount)
        : sum,
    0,
  )
}

const TEXT = compileTextPattern({
  text: ['text', 'code'],
  objects: ['args'],
  exclusions: ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'],
})
export const usage: UsageFacts = {
  key: 'usageMetadata',
  // Some events carry a traffic type without counts, so events are merged and do not replace each
  // other.
  inEvent: ({ usageMetadata }) => (isFields(usageMetadata) ? usageMetadata : undefined),
  meters: metersOf,
  ownNames,
  sums: {
    input: ['promptTokenCount'],
    output: ['candidatesTokenCount', 'thoughtsTokenCount', 'responseTokenCount'],
  },
  text: { plain: TEXT, events: TEXT },
  counts: MODALITY_METERS,
  hostedTools: hostedUsage,
}

/** Some events of a stream carry a traffic type without counts. */
export const hasCounts = (usage: Json | undefined): usage is Fields =>
  isFields(usage) && ('promptTokenCount' in usage || 'totalTokenCount' in usage)

/** Writes the gateway's meters so that the total is the sum of its parts. */
export const countsOf = (meters: Meters): Fields => {
  const { input = 0, cached = 0, cached_audio = 0, cached_image = 0 } = meters
  const { audio_input = 0, image_input = 0 } = meters
  const { output = 0, thinking = 0 } = meters
  const { audio_output = 0, image_output = 0, video_output = 0 } = meters
  const cachedTokens = cachedTokensOf(meters)
  const text = input + cached + cached_image + cacheWriteTokensOf(meters) + image_input
  const audio = audio_input + cached_audio
  const outputTokens = output + audio_output + image_output + video_output
  return omitUndefined({
    promptTokenCount: text + audio,
    cachedContentTokenCount: cachedTokens > 0 ? cachedTokens : undefined,
    candidatesTokenCount: outputTokens,
    thoughtsTokenCount: thinking > 0 ? thinking : undefined,
    totalTokenCount: text + audio + outputTokens + thinking,
    promptTokensDetails: detailsOf({ TEXT: text, AUDIO: audio }),
    candidatesTokensDetails:
      outputTokens > output
        ? detailsOf({
            TEXT: output,
            AUDIO: audio_output,
            IMAGE: image_output,
            VIDEO: video_output,
          })
        : undefined,
  })
}
const detailsOf = (tokens: Readonly<Record<string, number>>): Json =>
  Object.entries(tokens)
    .filter(([, count]) => count > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))

export const served: ServedFacts = {
  members: ['responseId', 'modelVersion'],
  mark: 'usageMetadata"',
  read(fields) {
    const { serviceTier, trafficType } = lenientObject(fields, 'usageMetadata')
    const tier = typeof serviceTier === 'string' ? serviceTier.toLowerCase() : undefined
    const attributes = { service_tier: firstNamed(tier, trafficTierOf(trafficType)) }
    return servedOf(fields.responseId, fields.modelVersion, attributes)
  },
}
