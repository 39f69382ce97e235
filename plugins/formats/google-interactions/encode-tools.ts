/** Encodes tools and their choice for an upstream. */
import { fault } from '../faults.ts'
import { type Fields, isFields, lenientObject, omitUndefined } from '../fields.ts'
import { GOOGLE } from '../google/origin.ts'
import { dropCache } from '../hub/cache-hint.ts'
import type { DroppedFields, ToolSupport } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type {
  FunctionTool,
  HostedTool,
  McpServer,
  Prompt,
  Tool,
  ToolChoice,
} from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { NAME } from './name.ts'

const HOSTED: Readonly<Partial<Record<HostedToolName, string>>> = {
  web_search: 'google_search',
  web_fetch: 'url_context',
  url_context: 'url_context',
  code_execution: 'code_execution',
  file_search: 'file_search',
}
const STORE = /^(?:projects\/.+\/)?fileSearchStores\//
const runsTool = ({ tool, stores = [] }: HostedTool): boolean =>
  HOSTED[tool] !== undefined && stores.every(store => STORE.test(store))
export const toolSupport: ToolSupport = {
  format: NAME,
  names: { invalid: /^[^A-Za-z_]|[^A-Za-z0-9_.:-]/g, maxLength: 128 },
  runs: runsTool,
}

export const writeTools = (
  tools: readonly Tool[],
  dropped: DroppedFields,
): readonly Fields[] | undefined =>
  tools.length === 0 ? undefined : tools.map(tool => writeTool(tool, dropped))
const writeTool = (tool: Tool, dropped: DroppedFields): Fields => {
  if ('cache' in tool) dropCache(tool.cache, dropped)
  if (tool.type === 'function') return writeFunction(tool, dropped)
  if (tool.type === 'hosted') return writeHosted(tool, dropped)
  if (tool.type === 'mcp') return writeServer(tool, dropped)
  const raw = tool.type === 'foreign' && isFields(tool.raw) ? tool.raw : {}
  if (tool.type === 'foreign' && tool.origin === NAME) return raw
  if (tool.type === 'foreign' && tool.origin === GOOGLE && isFields(raw.googleMaps))
    return omitUndefined({
      type: 'google_maps',
      enable_widget: lenientObject(raw, 'googleMaps').enableWidget,
    })
  throw unsupportedTool(tool)
}
const writeFunction = (
  { name, description, schema, strict }: FunctionTool,
  dropped: DroppedFields,
): Fields => {
  if (strict) dropped.add('strict')
  const parameters = isFields(schema) ? objectSchema(schema) : undefined
  return omitUndefined({ type: 'function', name, description, parameters })
}
const writeHosted = (hosted: HostedTool, dropped: DroppedFields): Fields => {
  const { tool, clientName, domains, stores } = hosted
  const type = HOSTED[tool]
  if (type === undefined || !runsTool(hosted)) throw fault('TOOL_UNSUPPORTED', [clientName])
  if (domains?.allowed) dropped.add(`${clientName}.allowed_domains`)
  if (domains?.blocked) dropped.add(`${clientName}.blocked_domains`)
  if (hosted.location !== undefined) dropped.add(`${clientName}.user_location`)
  if (hosted.depth !== undefined) dropped.add(`${clientName}.search_context_size`)
  if (hosted.maxCalls !== undefined) dropped.add(`${clientName}.max_uses`)
  return omitUndefined({ type, file_search_store_names: stores })
}
const writeServer = (server: McpServer, dropped: DroppedFields): Fields => {
  const { name, url, authorization, allowedTools, hints, native } = server
  if (native.origin === NAME && isFields(native.raw)) return native.raw
  for (const hint of hints) dropped.add(hint)
  return omitUndefined({
    type: 'mcp_server',
    name,
    url,
    headers: authorization === undefined ? undefined : { Authorization: `Bearer ${authorization}` },
    allowed_tools: allowedTools && [{ mode: 'auto', tools: allowedTools }],
  })
}

export const writeChoice = (
  { choice, tools }: Pick<Prompt, 'choice' | 'tools'>,
  dropped: DroppedFields,
): Fields | string | undefined => {
  if (!choice) return undefined
  const isStrict = tools.some(tool => tool.type === 'function' && tool.strict)
  const auto = isStrict ? 'validated' : 'auto'
  if (choice.type !== 'tool' && choice.type !== 'some')
    return choice.type === 'auto' ? auto : choice.type === 'none' ? 'none' : 'any'
  const functions = tools.flatMap(tool => (tool.type === 'function' ? [tool.name] : []))
  const names = namesOf(choice).filter(name => functions.includes(name))
  if (names.length < namesOf(choice).length && isForced(choice)) dropped.add('tool_choice')
  if (names.length === 0) return auto
  return { allowed_tools: { mode: isForced(choice) ? 'any' : auto, tools: names } }
}
type Named = Extract<ToolChoice, { readonly type: 'tool' | 'some' }>
const namesOf = (choice: Named): readonly string[] =>
  choice.type === 'tool' ? [choice.name] : choice.names
const isForced = (choice: Named): boolean => choice.type === 'tool' || choice.mode === 'required'
