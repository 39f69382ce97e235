/** Converts hosted tool calls: `executableCode` with its result, and the tool calls of newer
 *  models, which name their tool. */
import type { Json } from '../../../engine/plugin.ts'
import type { HostedName, Work } from '../content.ts'
import { entryOf, type Fields, inner, isFields, wordIn } from '../fields.ts'
import { NAME } from './name.ts'

/** `toolType` -> hosted tool. */
export const WORK_TOOLS: Readonly<Record<string, HostedName>> = {
  GOOGLE_SEARCH_WEB: 'web_search',
  GOOGLE_SEARCH_IMAGE: 'web_search',
  URL_CONTEXT: 'url_context',
  FILE_SEARCH: 'file_search',
  CODE_EXECUTION: 'code_execution',
}
const OK = 'OUTCOME_OK'

/** The start of a hosted call; undefined for other parts. `id`: makes an id if the part has
 *  none. */
export const begun = (part: Fields, id: () => string): Work | undefined => {
  const { executableCode: code, toolCall: call } = part
  const raw = { origin: NAME, items: [part] }
  if (isFields(code)) {
    const callId = wordIn(code, 'id') ?? id()
    return { type: 'hostedCall', tool: 'code_execution', id: callId, input: codeOf(code), raw }
  }
  if (!isFields(call)) return undefined
  const tool = entryOf(WORK_TOOLS, wordIn(call, 'toolType') ?? '') ?? 'other'
  const input = call.args ?? {}
  return { type: 'hostedCall', tool, id: wordIn(call, 'id') ?? id(), input, raw }
}
export const codeOf = (code: Fields): Json => ({
  language: (wordIn(code, 'language') ?? 'PYTHON').toLowerCase(),
  code: wordIn(code, 'code') ?? '',
})

/** Completes a hosted call with its result. `of`: the waiting call, if there is one. */
export const done = (part: Fields, of: Work | undefined, id: () => string): Work | undefined => {
  const { codeExecutionResult: result, toolResponse: response } = part
  const fields = isFields(result) ? result : response
  if (!isFields(fields)) return undefined
  const tool = isFields(result)
    ? 'code_execution'
    : (entryOf(WORK_TOOLS, wordIn(fields, 'toolType') ?? '') ?? 'other')
  const call: Work = of ?? { type: 'hostedCall', tool, id: wordIn(fields, 'id') ?? id(), input: {} }
  const outcome = wordIn(fields, 'outcome') ?? OK
  return {
    ...call,
    output: isFields(result)
      ? { output: wordIn(result, 'output') ?? '', outcome }
      : (fields.response ?? {}),
    ...(outcome !== OK && { error: outcome }),
    raw: { origin: NAME, items: [...(call.raw?.items ?? []), part] },
  }
}
/** The id of the call that this part completes. */
export const answered = (part: Fields): string | undefined =>
  wordIn(inner(part, 'toolResponse'), 'id') ?? wordIn(inner(part, 'codeExecutionResult'), 'id')

/** Encodes a call for a client: code and its output as two parts. Other tools appear in the
 *  grounding metadata. */
export const worked = (work: Work): readonly Json[] => {
  if (work.raw?.origin === NAME) return work.raw.items
  if (work.tool !== 'code_execution') return []
  const input = isFields(work.input) ? work.input : {}
  const code = wordIn(input, 'code') ?? (typeof work.input === 'string' ? work.input : '')
  const language = (wordIn(input, 'language') ?? 'PYTHON').toUpperCase()
  const parts: Json[] = [{ executableCode: { language, code } }]
  if (work.output !== undefined || work.error !== undefined)
    parts.push({
      codeExecutionResult: {
        outcome: work.error === undefined ? OK : 'OUTCOME_FAILED',
        output: work.error ?? outputText(work.output),
      },
    })
  return parts
}
const outputText = (output: Json | undefined): string => {
  if (typeof output === 'string') return output
  if (!isFields(output)) return output === undefined ? '' : JSON.stringify(output)
  return wordIn(output, 'output') ?? wordIn(output, 'stdout') ?? JSON.stringify(output)
}
