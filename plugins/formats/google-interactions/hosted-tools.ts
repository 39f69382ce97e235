/** Hosted tools: converts their calls, which are two steps, and counts them. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
  omitUndefined,
} from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'
import type { Citation, HostedCall } from '../hub/content.ts'
import { outputText, programOf } from '../hub/hosted-call-text.ts'
import { NAME } from './name.ts'

/** A step of a hosted tool is named for the tool: `google_search_call`, `google_search_result`. */
const TOOLS: Readonly<Record<string, HostedCall['tool']>> = {
  google_search: 'web_search',
  url_context: 'url_context',
  code_execution: 'code_execution',
  file_search: 'file_search',
  google_maps: 'other',
  retrieval: 'other',
  processing: 'other',
  mcp_server_tool: 'other',
}
const CALL = '_call'
const RESULT = '_result'
const toolOf = (type: string, end: string): HostedCall['tool'] | undefined =>
  type.endsWith(end) ? lookUp(TOOLS, type.slice(0, -end.length)) : undefined

/** The call that a step begins; undefined for other steps. */
export const startedCall = (step: Fields): HostedCall | undefined => {
  const type = lenientText(step, 'type') ?? ''
  const tool = toolOf(type, CALL)
  if (tool === undefined) return undefined
  const server = lenientText(step, 'server_name')
  const name = lenientText(step, 'name')
  return {
    type: 'hostedCall',
    tool,
    id: lenientText(step, 'id') ?? '',
    input: inputOf(lenientObject(step, 'arguments')),
    ...(server !== undefined && name !== undefined && { mcp: { server, tool: name } }),
    raw: { origin: NAME, items: [step] },
  }
}
const inputOf = (input: Fields): Json => {
  const { queries, urls } = input
  if (Array.isArray(queries))
    return queries.length > 1 ? { query: queries[0] ?? '', queries } : { query: queries[0] ?? '' }
  return Array.isArray(urls) && urls.length === 1 ? { url: urls[0] as Json } : input
}
/** The id of the call whose result the step is; undefined for other steps. */
export const resultCallId = (step: Fields): string | undefined =>
  toolOf(lenientText(step, 'type') ?? '', RESULT) === undefined
    ? undefined
    : (lenientText(step, 'call_id') ?? '')
/** `call`: undefined for a result whose call is not known. */
export const finishedCall = (step: Fields, call: HostedCall | undefined): HostedCall => {
  const type = lenientText(step, 'type') ?? ''
  const open: HostedCall = call ?? {
    type: 'hostedCall',
    tool: toolOf(type, RESULT) ?? 'other',
    id: resultCallId(step) ?? '',
    input: null,
  }
  const { result } = step
  const sources = sourcesIn(result)
  const output = open.tool === 'web_search' || result === undefined ? undefined : textOf(result)
  return {
    ...open,
    ...(output !== undefined && { output }),
    ...(sources.length > 0 && { sources }),
    ...(step.is_error === true && { error: 'failed' }),
    raw: { origin: NAME, items: [...(open.raw?.items ?? []), step] },
  }
}
/** A list of texts is one text. */
const textOf = (result: Json): Json =>
  Array.isArray(result) && result.every(each => isFields(each) && typeof each.text === 'string')
    ? result.map(each => lenientText(each as Fields, 'text') ?? '').join('\n')
    : result
const sourcesIn = (result: Json | undefined): readonly Citation[] =>
  lenientObjects({ result: result ?? null }, 'result').flatMap(each => {
    const url = lenientText(each, 'url')
    return url === undefined ? [] : [{ url }]
  })

/** The steps of a call; empty for a tool that this format lacks. */
export const hostedCallSteps = (call: HostedCall): readonly Fields[] => {
  if (call.raw?.origin === NAME) return call.raw.items.filter(isFields)
  const { id, error, output } = call
  const steps = call.mcp ? mcpSteps(call) : lookUp(STEPS, call.tool)?.(call)
  if (!steps) return []
  const [started, finished] = steps
  const isFinished = output !== undefined || error !== undefined || call.sources !== undefined
  return [
    { id, ...started },
    ...(isFinished
      ? [
          omitUndefined({
            call_id: id,
            is_error: error === undefined ? undefined : true,
            ...finished,
          }),
        ]
      : []),
  ]
}
type Steps = (call: HostedCall) => readonly [started: Fields, finished: Fields]
const resultText = ({ output, error }: HostedCall): string => {
  const text = output === undefined ? '' : outputText(output)
  return text === '' ? (error ?? '') : text
}
const mcpSteps: Steps = call => [
  {
    type: 'mcp_server_tool_call',
    name: call.mcp?.tool ?? '',
    server_name: call.mcp?.server ?? '',
    arguments: isFields(call.input) ? call.input : {},
  },
  { type: 'mcp_server_tool_result', result: resultText(call) },
]
const textsOf = (input: Json, ...keys: readonly string[]): readonly Json[] => {
  if (typeof input === 'string') return [input]
  const values = keys.map(key => (isFields(input) ? input[key] : undefined))
  return values.flatMap((value): readonly Json[] => {
    if (Array.isArray(value)) return value
    return typeof value === 'string' ? [value] : []
  })
}
const fetchSteps: Steps = ({ input, error }) => {
  const urls = textsOf(input, 'urls', 'url')
  const status = error === undefined ? 'success' : 'error'
  return [
    { type: 'url_context_call', arguments: { urls } },
    { type: 'url_context_result', result: urls.map(url => ({ url, status })) },
  ]
}
const STEPS: Readonly<Record<string, Steps>> = {
  web_search: ({ input }) => {
    const queries = [...new Set(textsOf(input, 'queries', 'query'))]
    return [
      { type: 'google_search_call', arguments: { queries } },
      { type: 'google_search_result', result: [] },
    ]
  },
  web_fetch: fetchSteps,
  url_context: fetchSteps,
  code_execution: call => [
    { type: 'code_execution_call', arguments: { ...programOf(call) } },
    { type: 'code_execution_result', result: resultText(call) },
  ],
  file_search: () => [{ type: 'file_search_call' }, { type: 'file_search_result' }],
}

// ---------------------------------------------------------------- counting

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
