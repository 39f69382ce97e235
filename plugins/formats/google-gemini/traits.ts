/** What an entry in `models:` may say of a model that speaks this format, and what holds where it says nothing. */
import type { Json } from '../../../engine/plugin.ts'
import type { TargetFacts } from '../codec.ts'

export interface Traits {
  /** `signatures: required`: calls without a thought signature are refused (3.x). */
  readonly signed: boolean
  /** `mixed_tools: true`: its own tools beside the client's functions (3.x). */
  readonly mixed: boolean
  /** `json_schema: false`: takes schemas only in Google's subset of OpenAPI (1.5, 2.0 on some endpoints). */
  readonly jsonSchema: boolean
  /** `thinking: budget` (2.5) or `level` (3.x); otherwise it does not think. */
  readonly thinking: 'budget' | 'level' | undefined
  /** `thinking_least`, `thinking_most`: between how many tokens a budget may lie. A model with a least thinks always. */
  readonly least: number
  readonly most: number
  /** `thinking_levels`: those it takes, where that is not all four. */
  readonly depths: readonly string[]
  /** `tool_media: true`: images in results of tools (3.x). */
  readonly toolMedia: boolean
  /** `media_resolution: true`: a level of detail for each image (3.x). */
  readonly levels: boolean
  /** `vertex: true`: takes what only Google's cloud endpoint does: labels, domains to leave out of a search. */
  readonly vertex: boolean
  /** `strict_tools: true`: can be held to the schemas of functions (mode VALIDATED). */
  readonly strict: boolean
}

/** From little to much. */
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
