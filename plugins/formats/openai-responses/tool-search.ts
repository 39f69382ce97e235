/** The search for tools that the client runs (`tool_search` with `execution: client`): targets of
 *  other formats get a function, and the tools that a search found among the others. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  fieldsIn,
  isFields,
  lenientObjects,
  lenientText,
  parseJson,
  textIn,
} from '../fields.ts'
import type { Call, OpaquePayload } from '../hub/content.ts'
import type { FunctionTool, Prompt } from '../hub/prompt.ts'
import { NAME } from './name.ts'

export const SEARCH = 'tool_search'
/** The provider runs the others. */
export const isClientSearch = ({ execution }: Fields): boolean => execution === 'client'

export const readSearch = (tool: Fields, at: string): FunctionTool => {
  const schema = fieldsIn(tool, 'parameters', `${at}.parameters`)
  const description = textIn(tool, 'description', `${at}.description`)
  return {
    type: 'function',
    name: SEARCH,
    description: description ?? 'Searches for tools and loads those that it finds.',
    ...(schema !== undefined && { schema }),
    native: { origin: NAME, raw: tool },
  }
}
/** Whether calls of the function are searches for this client. */
export const offersSearch = ({ tools }: Pick<Prompt, 'tools'>): boolean =>
  tools.some(
    tool => tool.type === 'function' && tool.name === SEARCH && tool.native?.origin === NAME,
  )

/** Tools that earlier searches found, or that the client added in the conversation, each once, with
 *  their paths. */
export const foundTools = (input: Json | undefined): readonly (readonly [Json, string])[] => {
  const toolsByName = new Map<string, readonly [Json, string]>()
  for (const [index, item] of (Array.isArray(input) ? input : []).entries())
    if (isFields(item) && addsTools(item))
      lenientObjects(item, 'tools').forEach((tool, number) => {
        const { defer_loading: _, ...rest } = tool
        toolsByName.set(`${tool.type} ${tool.name}`, [rest, `input[${index}].tools[${number}]`])
      })
  return [...toolsByName.values()]
}
export const ADDITIONAL = 'additional_tools'
const addsTools = (item: Fields): boolean =>
  item.type === ADDITIONAL || (item.type === 'tool_search_output' && isClientSearch(item))
/** The whole item, for its own format. */
export const searchPayload = (item: Fields): OpaquePayload => ({
  origin: NAME,
  kind: 'search',
  data: JSON.stringify(item),
})
export const searchItemIn = ({ payload }: Pick<Call, 'payload'>): Fields | undefined => {
  if (payload?.origin !== NAME || payload.kind !== 'search') return undefined
  const item = parseJson(payload.data)
  return isFields(item) ? item : undefined
}
/** The part of a search that the model reads: the tools themselves are among the tools. */
export const describeFound = (item: Fields): string =>
  JSON.stringify({
    tools: lenientObjects(item, 'tools').flatMap(tool =>
      tool.type === 'namespace' ? lenientObjects(tool, 'tools').map(describe) : [describe(tool)],
    ),
  })
const describe = (tool: Fields): Fields => ({
  name: lenientText(tool, 'name') ?? lenientText(tool, 'type') ?? '',
  description: lenientText(tool, 'description') ?? '',
})
