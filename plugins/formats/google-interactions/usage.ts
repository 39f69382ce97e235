/** Converts usage counts to the gateway's meters, and counts hosted tools. The input includes
 *  cached tokens; thoughts and the tokens that tools added are counted beside it and the output. */
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
} from '../fields.ts'
import {
  type HostedUsage,
  type HostedUsageFacts,
  omitZeroMeters,
  type UsageFacts,
} from '../format.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { MODALITY_METERS, metersByModality } from '../token-meters.ts'

const metersOf = (usage: Fields): Meters =>
  omitZeroMeters(
    metersByModality({
      prompt: counted(usage, 'total_input_tokens', 'input_tokens_by_modality'),
      cached: counted(usage, 'total_cached_tokens', 'cached_tokens_by_modality'),
      tools: counted(usage, 'total_tool_use_tokens', 'tool_use_tokens_by_modality'),
      output: counted(usage, 'total_output_tokens', 'output_tokens_by_modality'),
      thinking: count(usage.total_thought_tokens),
    }),
  )
const counted = (usage: Fields, total: string, list: string) => ({
  tokens: count(usage[total]),
  of: (modality: string) =>
    lenientObjects(usage, list)
      .filter(each => lenientText(each, 'modality')?.toLowerCase() === modality)
      .reduce((sum, { tokens }) => sum + count(tokens), 0),
})

/** The interaction in a whole answer or in an event. */
export const interactionIn = (body: Fields): Fields =>
  isFields(body.interaction) ? body.interaction : body

/** Names in `grounding_tool_count`. */
const GROUNDING = {
  google_search: 'web_search',
  google_maps: 'google_maps',
  retrieval: 'retrieval',
} as const
/** Steps that are calls, of tools that are counted by call. */
const CALLS = { code_execution_call: 'code_execution', file_search_call: 'file_search' } as const

class InteractionTools implements HostedUsage {
  readonly #isPerQuery: boolean
  readonly #grounding: { -readonly [meter in keyof Meters]: number } = {}
  readonly #calls = new Map<string, keyof Meters>()
  constructor(isPerQuery: boolean) {
    this.#isPerQuery = isPerQuery
  }
  observe(body: Fields): void {
    const interaction = interactionIn(body)
    for (const each of lenientObjects(
      lenientObject(interaction, 'usage'),
      'grounding_tool_count',
    )) {
      const meter = GROUNDING[each.type as keyof typeof GROUNDING]
      if (meter) this.#grounding[meter] = this.#unitsOf(meter, count(each.count))
    }
    const steps = lenientObjects(interaction, 'steps')
    for (const [index, step] of steps.entries()) this.#addStep(step, index)
    if (isFields(body.step)) this.#addStep(body.step, count(body.index))
  }
  get meters(): Meters {
    const meters = { ...this.#grounding }
    for (const meter of this.#calls.values()) meters[meter] = (meters[meter] ?? 0) + 1
    return omitZeroMeters(meters)
  }
  #addStep(step: Fields, index: number): void {
    const meter = CALLS[step.type as keyof typeof CALLS]
    if (meter) this.#calls.set(lenientText(step, 'id') ?? String(index), meter)
  }
  /** Searches are charged by the answer or by the query. */
  #unitsOf(meter: keyof Meters, queries: number): number {
    return meter === 'web_search' && !this.#isPerQuery ? Math.min(queries, 1) : queries
  }
}
const hostedUsage: HostedUsageFacts = {
  marks: ['grounding_tool_count', 'execution_call', 'search_call'],
  begin: ({ search_unit: unit }) => new InteractionTools(unit === 'query'),
}

const TEXT = compileTextPattern({
  text: ['text', 'code'],
  objects: ['arguments'],
  exclusions: ['annotations', 'input', 'system_instruction', 'tools', 'result'],
})
export const usage: UsageFacts = {
  key: 'usage',
  inEvent: event => {
    const { usage } = lenientObject(event, 'interaction')
    return isFields(usage) ? usage : undefined
  },
  meters: metersOf,
  sums: {
    input: ['total_input_tokens'],
    output: ['total_output_tokens', 'total_thought_tokens'],
  },
  text: { plain: TEXT, events: TEXT },
  counts: MODALITY_METERS,
  hostedTools: hostedUsage,
}
