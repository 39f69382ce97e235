/** Hosted tools: converts their calls (`executableCode` with its result, and the calls of newer
 *  models), and counts them. Grounding is charged per answer regardless of the queries; models with
 *  the trait `search_unit: query` are charged per query. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
} from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'
import type { HostedCall, HostedToolName } from '../hub/content.ts'
import { outputText, programOf } from '../hub/hosted-call-text.ts'
import { NAME } from './name.ts'

/** `toolType` -> hosted tool. */
export const HOSTED_TOOLS: Readonly<Record<string, HostedToolName>> = {
  GOOGLE_SEARCH_WEB: 'web_search',
  GOOGLE_SEARCH_IMAGE: 'web_search',
  URL_CONTEXT: 'url_context',
  FILE_SEARCH: 'file_search',
  CODE_EXECUTION: 'code_execution',
}
/** Tools whose calls are counted by other members of the answer, or as tokens alone. */
const COUNTED_ELSEWHERE: ReadonlySet<string> = new Set([
  ...Object.keys(HOSTED_TOOLS),
  'TOOL_TYPE_UNSPECIFIED',
  'GOOGLE_MAPS',
  'COMPUTER_USE',
  'MCP_SERVERS',
  'MEDIA_PROCESSING',
])
const OK = 'OUTCOME_OK'
const UNSPECIFIED = 'language_unspecified'

/** The start of a hosted call; undefined for other parts. `id`: makes an id if the part has
 *  none. */
export const startedCall = (part: Fields, id: () => string): HostedCall | undefined => {
  const { executableCode: code, toolCall: call } = part
  const raw = { origin: NAME, items: [part] }
  if (isFields(code)) {
    const callId = lenientText(code, 'id') ?? id()
    return { type: 'hostedCall', tool: 'code_execution', id: callId, input: codeOf(code), raw }
  }
  if (!isFields(call)) return undefined
  const tool = lookUp(HOSTED_TOOLS, lenientText(call, 'toolType') ?? '') ?? 'other'
  const input = call.args ?? {}
  return { type: 'hostedCall', tool, id: lenientText(call, 'id') ?? id(), input, raw }
}
export const codeOf = (code: Fields): Json => ({
  language: (lenientText(code, 'language') ?? 'PYTHON').toLowerCase().replace(UNSPECIFIED, ''),
  code: lenientText(code, 'code') ?? '',
})

/** Completes a hosted call with its result. `openCall`: the call without a result, if there is
 *  one. */
export const finishedCall = (
  part: Fields,
  openCall: HostedCall | undefined,
  id: () => string,
): HostedCall | undefined => {
  const { codeExecutionResult: result, toolResponse: response } = part
  const fields = isFields(result) ? result : response
  if (!isFields(fields)) return undefined
  const tool = isFields(result)
    ? 'code_execution'
    : (lookUp(HOSTED_TOOLS, lenientText(fields, 'toolType') ?? '') ?? 'other')
  const call: HostedCall = openCall ?? {
    type: 'hostedCall',
    tool,
    id: lenientText(fields, 'id') ?? id(),
    input: {},
  }
  const outcome = lenientText(fields, 'outcome') ?? OK
  return {
    ...call,
    output: isFields(result)
      ? { output: lenientText(result, 'output') ?? '', outcome }
      : (fields.response ?? {}),
    ...(outcome !== OK && { error: outcome }),
    raw: { origin: NAME, items: [...(call.raw?.items ?? []), part] },
  }
}
/** The id of the call that this part completes. */
export const completedCallId = (part: Fields): string | undefined =>
  lenientText(lenientObject(part, 'toolResponse'), 'id') ??
  lenientText(lenientObject(part, 'codeExecutionResult'), 'id')

/** Encodes a call for a client: code and its output as two parts. Other tools appear in the
 *  grounding metadata. */
export const hostedCallParts = (call: HostedCall): readonly Json[] => {
  if (call.raw?.origin === NAME) return call.raw.items
  if (call.tool !== 'code_execution') return []
  const { language, code } = programOf(call)
  // Google's types know one language.
  const named = language === 'python' ? 'PYTHON' : UNSPECIFIED.toUpperCase()
  const parts: Json[] = [{ executableCode: { language: named, code } }]
  if (call.output !== undefined || call.error !== undefined)
    parts.push({
      codeExecutionResult: {
        outcome: call.error === undefined ? OK : 'OUTCOME_FAILED',
        output: call.error ?? outputText(call.output ?? ''),
      },
    })
  return parts
}
export const hostedUsage: HostedUsageFacts = {
  marks: ['groundingMetadata"', 'executableCode"', 'toolCall"'],
  begin: ({ search_unit: unit }) => startCounting(unit === 'query'),
}
const startCounting = (perQuery: boolean): HostedUsage => {
  /** Events of a stream may repeat queries, places and calls. */
  const [queries, retrievals, places] = [new Set(), new Set(), new Set()]
  const [maps, others] = [new Set(), new Set()]
  let programs = 0
  const addPart = (part: Json): void => {
    if (!isFields(part)) return
    if (isFields(part.executableCode)) programs++
    const { toolType, id, args } = lenientObject(part, 'toolCall')
    if (toolType === 'GOOGLE_MAPS') maps.add(id ?? JSON.stringify(args ?? null))
    else if (typeof toolType === 'string' && !COUNTED_ELSEWHERE.has(toolType))
      others.add(id ?? JSON.stringify(part))
  }
  const addCandidate = (candidate: Json): void => {
    if (!isFields(candidate)) return
    const grounding = lenientObject(candidate, 'groundingMetadata')
    for (const query of textsIn(grounding.webSearchQueries)) queries.add(query)
    for (const query of textsIn(grounding.retrievalQueries)) retrievals.add(query)
    for (const chunk of lenientObjects(grounding, 'groundingChunks'))
      if (isFields(chunk.maps)) places.add(JSON.stringify(chunk.maps))
    const { parts } = lenientObject(candidate, 'content')
    if (Array.isArray(parts)) parts.forEach(addPart)
  }
  return {
    observe({ candidates }) {
      if (Array.isArray(candidates)) candidates.forEach(addCandidate)
    },
    get meters() {
      const units = (queryCount: number): number =>
        perQuery ? queryCount : Math.min(1, queryCount)
      return omitZeroMeters({
        web_search: units(queries.size),
        code_execution: programs,
        // An answer lists its places, and newer models each call.
        google_maps: units(maps.size || Math.min(1, places.size)),
        retrieval: Math.min(1, retrievals.size),
        other_tools: others.size,
      })
    },
  }
}
const textsIn = (list: Json | undefined): readonly string[] =>
  Array.isArray(list)
    ? list.filter((each: Json): each is string => typeof each === 'string' && each !== '')
    : []
