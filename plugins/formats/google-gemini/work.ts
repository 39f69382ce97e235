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
    const given = wordIn(code, 'id') ?? id()
    return { type: 'work', tool: 'code_execution', id: given, input: codeOf(code), raw }
  }
  if (!isFields(call)) return undefined
  const tool = entryOf(WORK_TOOLS, wordIn(call, 'toolType') ?? '') ?? 'other'
  const input = call.args ?? {}
  return { type: 'work', tool, id: wordIn(call, 'id') ?? id(), input, raw }
}
export const codeOf = (code: Fields): Json => ({
  language: (wordIn(code, 'language') ?? 'PYTHON').toLowerCase(),
  code: wordIn(code, 'code') ?? '',
})

/** Completes a hosted call with its result. `of`: the waiting call, if there is one. */
export const done = (part: Fields, of: Work | undefined, id: () => string): Work | undefined => {
  const { codeExecutionResult: result, toolResponse: response } = part
  const given = isFields(result) ? result : response
  if (!isFields(given)) return undefined
  const tool = isFields(result)
    ? 'code_execution'
    : (entryOf(WORK_TOOLS, wordIn(given, 'toolType') ?? '') ?? 'other')
  const begin: Work = of ?? { type: 'work', tool, id: wordIn(given, 'id') ?? id(), input: {} }
  const outcome = wordIn(given, 'outcome') ?? OK
  return {
    ...begin,
    output: isFields(result)
      ? { output: wordIn(result, 'output') ?? '', outcome }
      : (given.response ?? {}),
    ...(outcome !== OK && { failed: outcome }),
    raw: { origin: NAME, items: [...(begin.raw?.items ?? []), part] },
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
  if (work.output !== undefined || work.failed !== undefined)
    parts.push({
      codeExecutionResult: {
        outcome: work.failed === undefined ? OK : 'OUTCOME_FAILED',
        output: work.failed ?? printed(work.output),
      },
    })
  return parts
}
const printed = (output: Json | undefined): string => {
  if (typeof output === 'string') return output
  if (!isFields(output)) return output === undefined ? '' : JSON.stringify(output)
  return wordIn(output, 'output') ?? wordIn(output, 'stdout') ?? JSON.stringify(output)
}
