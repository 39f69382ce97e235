/** Encodes settings: those of every model, and members that only some models read. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, omitUndefined } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Settings } from '../hub/prompt.ts'
import type { ThinkingPlan } from './thinking.ts'

/** Values that ask for what Converse does by default: they are left out without a report. */
const DEFAULTS: Readonly<Partial<Record<keyof Settings, Json>>> = {
  candidates: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logprobs: false,
  alternatives: 0,
  parallel: true,
  store: false,
  background: false,
  tier: 'auto',
}
/** Settings that are encoded below, and the limit, which depends on the thinking budget. */
const ENCODED: ReadonlySet<string> = new Set([
  'limit',
  'temperature',
  'topP',
  'topK',
  'stops',
  'tier',
  'metadata',
])
const TIERS: ReadonlySet<string> = new Set(['default', 'flex', 'priority', 'reserved'])

/** `plan`: with thinking, models refuse most sampling settings. */
export const writeSettings = (
  settings: Settings,
  plan: ThinkingPlan,
  target: TargetFacts,
  dropped: DroppedFields,
): Fields => {
  for (const [name, value] of Object.entries(settings))
    if (!ENCODED.has(name) && !isDefault(name, value)) dropped.add(name)
  const { temperature, topP, topK } = samplingOf(settings, plan, target, dropped)
  const stopSequences = stopsOf(settings, dropped)
  const inferenceConfig = omitUndefined({
    maxTokens: plan.limit,
    temperature,
    topP,
    stopSequences: stopSequences && [...stopSequences],
  })
  const additional = omitUndefined({ ...plan.members, top_k: topK })
  return omitUndefined({
    inferenceConfig: unlessEmpty(inferenceConfig),
    additionalModelRequestFields: unlessEmpty(additional),
    // Without it the answer does not say which sequence ended it.
    additionalModelResponseFieldPaths: stopSequences && ['/stop_sequence'],
    serviceTier: tierOf(settings, dropped),
    requestMetadata: metadataOf(settings, dropped),
  })
}
const isDefault = (name: string, value: unknown): boolean =>
  DEFAULTS[name as keyof Settings] === value ||
  (name === 'modalities' &&
    Array.isArray(value) &&
    value.every(each => String(each).toLowerCase() === 'text'))
const unlessEmpty = (fields: Fields): Fields | undefined =>
  Object.keys(fields).length > 0 ? fields : undefined

type Sampling = { readonly [Name in 'temperature' | 'topP' | 'topK']: number | undefined }
/** Many models refuse temperature and top_p together, or do not know top_k: see the trait
 *  `sampling`. */
const samplingOf = (
  settings: Settings,
  { isOn }: ThinkingPlan,
  { traits: { sampling } }: TargetFacts,
  dropped: DroppedFields,
): Sampling => {
  const { temperature, topP, topK } = settings
  const isFree = sampling !== false && !isOn
  const sendsAll = isFree && sampling === true
  const sendsTopP = sendsAll || (isFree && temperature === undefined)
  const isClipped = temperature !== undefined && temperature > 1
  if (isFree ? isClipped : isNotDefault(temperature)) dropped.add('temperature')
  if (!sendsTopP && isNotDefault(topP)) dropped.add('topP')
  if (!sendsAll && topK !== undefined) dropped.add('topK')
  return {
    temperature: isFree && temperature !== undefined ? clip(temperature) : undefined,
    topP: sendsTopP ? topP : undefined,
    topK: sendsAll ? topK : undefined,
  }
}
const isNotDefault = (value: number | undefined): boolean => value !== undefined && value !== 1
const clip = (temperature: number): number => Math.min(Math.max(temperature, 0), 1)
/** The provider refuses blank stop sequences. */
const stopsOf = (
  { stops = [] }: Settings,
  dropped: DroppedFields,
): readonly string[] | undefined => {
  const valid = stops.filter(stop => stop.trim() !== '')
  if (valid.length < stops.length) dropped.add('stops')
  return valid.length > 0 ? valid : undefined
}
const tierOf = ({ tier }: Settings, dropped: DroppedFields): Fields | undefined => {
  if (tier === undefined || tier === DEFAULTS.tier) return undefined
  if (TIERS.has(tier)) return { type: tier }
  dropped.add('tier')
  return undefined
}

/** Most entries, and the texts that the provider accepts. */
const MAX_ENTRIES = 16
const METADATA_TEXT = /^[A-Za-z0-9\s:_@$#=/+,.-]{0,256}$/

const metadataOf = ({ metadata }: Settings, dropped: DroppedFields): Fields | undefined => {
  if (metadata === undefined || metadata === null) return undefined
  const entries = isFields(metadata) ? Object.entries(metadata) : []
  const valid = entries
    .filter(([key, value]) => key !== '' && [key, value].every(isMetadataText))
    .slice(0, MAX_ENTRIES)
  if (valid.length < entries.length || !isFields(metadata)) dropped.add('metadata')
  return unlessEmpty(Object.fromEntries(valid))
}
const isMetadataText = (value: Json): boolean =>
  typeof value === 'string' && METADATA_TEXT.test(value)
