/** The context that a route's translators share, and the formats that can be translated. */
import type { Attempt, Json, Log, Target } from '../../engine/plugin.ts'
import type { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import type { MediaHost } from '../conversion/media-fetch.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import type { AutoCache } from '../formats/hub/auto-cache.ts'
import type { Codec, TargetCodec, TargetFacts } from '../formats/hub/codec.ts'
import { hasMediaRules, type MediaRules, needsMediaFit } from '../formats/media/media-places.ts'
import { MODEL } from '../slots.ts'
import type { ImageLinks } from './image-links.ts'
import type { ThoughtCache } from './thought-cache.ts'

/** A format that can be translated: it has a codec. */
export type TranslatableFormat = Format & { readonly codec: Codec }
export const isTranslatable = (format: Format | undefined): format is TranslatableFormat =>
  format?.codec !== undefined

export interface TranslationContext {
  readonly log: Log
  readonly host: MediaHost
  /** Absent if no route serves signed URLs. */
  readonly imageLinks?: ImageLinks | undefined
  readonly thoughts: ThoughtCache
  /** Whether the route refuses requests with fields that a target cannot carry. */
  readonly strict: boolean
  /** Cache breakpoints for requests without any; of models that do not say it themselves. */
  readonly autoCache?: AutoCache | undefined
  /** Upstream -> what it demands of conversations. */
  readonly rules: ReadonlyMap<string, Fields>
  /** Upstream -> kinds of media that the gateway fetches for it. */
  readonly fetches: ReadonlyMap<string, readonly string[]>
  /** Upstream -> largest file that is uploaded to it, bytes. */
  readonly uploads?: ReadonlyMap<string, number>
}

/** The target that a prompt is prepared for. */
export interface Goal {
  readonly codec: TargetCodec
  readonly facts: TargetFacts
  /** Client and target use one format: names pass as the client wrote them. */
  readonly isSameFormat: boolean
  readonly dropped: DroppedFieldReport
}

/** Traits of the model win over the rules of its upstream. */
export const factsOf = (
  { target, exchange }: Attempt,
  { rules }: Pick<TranslationContext, 'rules'>,
): TargetFacts => {
  const traits = { ...rules.get(target.upstream), ...target.traits }
  return {
    name: target.name ?? exchange.slots.get(MODEL)?.asked ?? '',
    ...(typeof traits.output === 'number' && { maxOutput: traits.output }),
    traits,
  }
}

/** The rules of a target for media in requests of its own format; undefined: it has none. */
export const mediaRulesOf = (
  codec: Codec | undefined,
  { upstream, traits }: Pick<TargetFacts, 'traits'> & Pick<Target, 'upstream'>,
  { fetches }: Pick<TranslationContext, 'fetches'>,
): MediaRules | undefined => {
  const rules = { fetched: fetches.get(upstream) ?? [], traits }
  return codec?.mediaIn && hasMediaRules(rules) ? rules : undefined
}
/** Whether a request in the target's own format has media that these rules exclude. */
export const refusesMedia = (
  codec: Codec | undefined,
  body: Json | undefined,
  rules: MediaRules,
): boolean => isFields(body) && needsMediaFit(codec?.mediaIn?.(body) ?? [], rules)
