/** Traits of models of this format in `models:`, with their defaults. */
import type { Json } from '../../../engine/plugin.ts'
import type { TargetFacts } from '../hub/codec.ts'

export interface Traits {
  /** `signatures: required`: the provider rejects calls without a thought signature (3.x). */
  readonly needsSignatures: boolean
  /** `mixed_tools: true`: hosted tools may be combined with the client's functions (3.x). */
  readonly mixesTools: boolean
  /** `json_schema: false`: accepts only Google's subset of OpenAPI (1.5, 2.0 on some endpoints). */
  readonly takesJsonSchema: boolean
  /** `thinking: budget` (2.5) or `level` (3.x); otherwise the model does not think. */
  readonly thinking: 'budget' | 'level' | undefined
  /** `thinking_least`, `thinking_most`: the range of a budget in tokens. A model with a minimum
   *  always thinks. */
  readonly minBudget: number
  readonly maxBudget: number
  /** `thinking_levels`: the accepted levels; default: all four. */
  readonly acceptedLevels: readonly string[]
  /** `tool_media: true`: images in tool results (3.x). */
  readonly takesToolMedia: boolean
  /** `media_resolution: true`: a resolution for each image (3.x). */
  readonly takesResolution: boolean
  /** `vertex: true`: accepts what only Vertex AI does: labels, and domains to exclude from a
   *  search. */
  readonly isVertex: boolean
  /** `strict_tools: true`: enforces the schemas of functions (mode VALIDATED). */
  readonly isStrict: boolean
}

/** In ascending order. */
export const THINKING_LEVELS: readonly string[] = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH']
/** The levels of a model that names none. */
const USUAL_LEVELS = THINKING_LEVELS.slice(0, -1)

export const traitsOf = ({ traits }: TargetFacts): Traits => ({
  needsSignatures: traits.signatures === 'required',
  mixesTools: traits.mixed_tools === true,
  takesJsonSchema: traits.json_schema !== false,
  thinking:
    traits.thinking === 'budget' || traits.thinking === 'level' ? traits.thinking : undefined,
  minBudget: typeof traits.thinking_least === 'number' ? traits.thinking_least : 0,
  maxBudget:
    typeof traits.thinking_most === 'number' ? traits.thinking_most : Number.POSITIVE_INFINITY,
  acceptedLevels: Array.isArray(traits.thinking_levels)
    ? THINKING_LEVELS.filter(each => (traits.thinking_levels as readonly Json[]).includes(each))
    : USUAL_LEVELS,
  takesToolMedia: traits.tool_media === true,
  takesResolution: traits.media_resolution === true,
  isVertex: traits.vertex === true,
  isStrict: traits.strict_tools === true,
})
