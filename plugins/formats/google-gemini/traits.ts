/** Traits of models of this format in `models:`, with their defaults. */
import type { Json } from '../../../engine/plugin.ts'
import type { TargetFacts } from '../codec.ts'

export interface Traits {
  /** `signatures: required`: the provider rejects calls without a thought signature (3.x). */
  readonly signed: boolean
  /** `mixed_tools: true`: hosted tools may be combined with the client's functions (3.x). */
  readonly mixed: boolean
  /** `json_schema: false`: accepts only Google's subset of OpenAPI (1.5, 2.0 on some endpoints). */
  readonly jsonSchema: boolean
  /** `thinking: budget` (2.5) or `level` (3.x); otherwise the model does not think. */
  readonly thinking: 'budget' | 'level' | undefined
  /** `thinking_least`, `thinking_most`: the range of a budget in tokens. A model with a minimum
   *  always thinks. */
  readonly least: number
  readonly most: number
  /** `thinking_levels`: the accepted levels; default: all four. */
  readonly depths: readonly string[]
  /** `tool_media: true`: images in tool results (3.x). */
  readonly toolMedia: boolean
  /** `media_resolution: true`: a resolution for each image (3.x). */
  readonly levels: boolean
  /** `vertex: true`: accepts what only Vertex AI does: labels, and domains to exclude from a
   *  search. */
  readonly vertex: boolean
  /** `strict_tools: true`: enforces the schemas of functions (mode VALIDATED). */
  readonly strict: boolean
}

/** In ascending order. */
export const DEPTHS: readonly string[] = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH']

export const traitsOf = ({ traits }: TargetFacts): Traits => ({
  signed: traits.signatures === 'required',
  mixed: traits.mixed_tools === true,
  jsonSchema: traits.json_schema !== false,
  thinking:
    traits.thinking === 'budget' || traits.thinking === 'level' ? traits.thinking : undefined,
  least: typeof traits.thinking_least === 'number' ? traits.thinking_least : 0,
  most: typeof traits.thinking_most === 'number' ? traits.thinking_most : Number.POSITIVE_INFINITY,
  depths: Array.isArray(traits.thinking_levels)
    ? DEPTHS.filter(each => (traits.thinking_levels as readonly Json[]).includes(each))
    : DEPTHS,
  toolMedia: traits.tool_media === true,
  levels: traits.media_resolution === true,
  vertex: traits.vertex === true,
  strict: traits.strict_tools === true,
})
