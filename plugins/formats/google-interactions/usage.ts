/** Converts usage counts to the gateway's meters, and counts hosted tools. The input includes
 *  cached tokens; thoughts and the tokens that tools added are counted beside it and the output. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
} from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'

export const metersOf = (usage: Fields): Meters => {
  const prompt = count(usage.total_input_tokens)
  const cached = Math.min(count(usage.total_cached_tokens), prompt)
  const cachedAudio = Math.min(tokensOf(usage.cached_tokens_by_modality, 'audio'), cached)
  const cachedImage = Math.min(
    tokensOf(usage.cached_tokens_by_modality, 'image'),
    cached - cachedAudio,
  )
  const input = prompt - cached + count(usage.total_tool_use_tokens)
  const audioTokens =
    tokensOf(usage.input_tokens_by_modality, 'audio') +
    tokensOf(usage.tool_use_tokens_by_modality, 'audio') -
    cachedAudio
  const audioInput = Math.min(Math.max(0, audioTokens), input)
  const output = count(usage.total_output_tokens)
  const audio = Math.min(tokensOf(usage.output_tokens_by_modality, 'audio'), output)
  const image = Math.min(tokensOf(usage.output_tokens_by_modality, 'image'), output - audio)
  const video = Math.min(tokensOf(usage.output_tokens_by_modality, 'video'), output - audio - image)
  return omitZeroMeters({
    input: input - audioInput,
    cached: cached - cachedAudio - cachedImage,
    cached_audio: cachedAudio,
    cached_image: cachedImage,
    audio_input: audioInput,
    output: output - audio - image - video,
    audio_output: audio,
    image_output: image,
    video_output: video,
    thinking: count(usage.total_thought_tokens),
  })
}
const tokensOf = (list: Json | undefined, modality: string): number =>
  lenientObjects({ list: list ?? null }, 'list')
    .filter(each => lenientText(each, 'modality')?.toLowerCase() === modality)
    .reduce((sum, { tokens }) => sum + count(tokens), 0)

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
export const hostedUsage: HostedUsageFacts = {
  marks: ['grounding_tool_count', 'execution_call', 'search_call'],
  begin: ({ search_unit: unit }) => new InteractionTools(unit === 'query'),
}
