/** Decodes tools and their choice of a client's request. */
import { type Fields, isFields, lookUp, omitUndefined } from '../fields.ts'
import { GOOGLE } from '../google/origin.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type { FunctionTool, HostedTool, Tool, ToolChoice } from '../hub/prompt.ts'
import { NAME } from './name.ts'

const HOSTED: Readonly<Record<string, HostedToolName>> = {
  google_search: 'web_search',
  url_context: 'url_context',
  code_execution: 'code_execution',
  file_search: 'file_search',
}

export const readTools = (
  body: RequestObject,
  config: RequestObject | undefined,
  dropped: DroppedFields,
): readonly Tool[] => {
  const isStrict = modeOf(choiceIn(config)) === 'validated'
  return body.objects('tools').map(tool => readTool(tool, isStrict, dropped))
}
const readTool = (tool: RequestObject, isStrict: boolean, dropped: DroppedFields): Tool => {
  const type = tool.requiredText('type')
  if (type === 'function') return readFunction(tool, isStrict, dropped)
  const hosted = lookUp(HOSTED, type)
  if (hosted) return readHosted(tool, type, hosted, dropped)
  if (type === 'mcp_server') return readServer(tool, dropped)
  if (type === 'google_maps') return readMaps(tool, dropped)
  // Google runs it, and other targets answer without it.
  const place = type === 'retrieval' && { at: tool.path }
  return { type: 'foreign', origin: NAME, name: type, raw: tool.fields, ...place }
}
const readMaps = (tool: RequestObject, dropped: DroppedFields): Tool => {
  const enableWidget = tool.flag('enable_widget')
  tool.reportUnread(dropped, 'type')
  const raw = { googleMaps: omitUndefined({ enableWidget }) }
  return { type: 'foreign', origin: GOOGLE, name: 'google_maps', raw, at: tool.path }
}
const readFunction = (
  tool: RequestObject,
  isStrict: boolean,
  dropped: DroppedFields,
): FunctionTool => {
  const name = tool.requiredText('name')
  const description = tool.text('description')
  const schema = tool.object('parameters')?.fields
  tool.reportUnread(dropped, 'type')
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    ...(schema && { schema }),
    ...(isStrict && { strict: true }),
  }
}
const readHosted = (
  tool: RequestObject,
  type: string,
  hosted: HostedToolName,
  dropped: DroppedFields,
): HostedTool => {
  const stores = tool.texts('file_search_store_names')
  tool.reportUnread(dropped, 'type')
  return {
    type: 'hosted',
    tool: hosted,
    clientName: type,
    at: tool.path,
    ...(stores.length > 0 && { stores }),
  }
}
/** Of the headers only a bearer token is known to other formats. */
const readServer = (tool: RequestObject, dropped: DroppedFields): Tool => {
  const name = tool.text('name') ?? 'mcp'
  const url = tool.requiredText('url')
  const raw = tool.fields
  const { authorization, others } = readHeaders(tool.object('headers')?.fields ?? {})
  const allowed = tool.objects('allowed_tools')
  const allowedTools = allowed.flatMap(each => each.texts('tools'))
  const isForbidden = allowed.some(each => each.text('mode')?.toLowerCase() === 'none')
  if (others || isForbidden) {
    const reason = others ? 'headers for the server cannot be sent' : 'tools cannot be excluded'
    return { type: 'foreign', origin: NAME, name, raw, reason }
  }
  for (const each of allowed) each.reportUnread(dropped)
  tool.reportUnread(dropped, 'type')
  return {
    type: 'mcp',
    name,
    url,
    ...(authorization !== undefined && { authorization }),
    ...(allowed.length > 0 && { allowedTools }),
    hints: [],
    native: { origin: NAME, raw },
  }
}
const BEARER = /^bearer +/i
const readHeaders = (headers: Fields) => {
  const names = Object.keys(headers)
  const name = names.find(each => each.toLowerCase() === 'authorization')
  const value = name === undefined ? undefined : headers[name]
  const token = typeof value === 'string' && BEARER.test(value) ? value : undefined
  return {
    ...omitUndefined({ authorization: token?.replace(BEARER, '') }),
    others: names.length > (token === undefined ? 0 : 1),
  } as { readonly authorization?: string; readonly others: boolean }
}

// ---------------------------------------------------------------- choice

type Choice = { readonly mode: string | undefined; readonly names: readonly string[] }

/** `auto`, or `{allowed_tools: {mode, tools}}`. */
const choiceIn = (
  config: RequestObject | undefined,
  dropped?: DroppedFields,
): Choice | undefined => {
  const value = config?.value('tool_choice')
  if (!config || value === undefined) return undefined
  if (!isFields(value)) return { mode: config.text('tool_choice'), names: [] }
  const choice = config.object('tool_choice')
  const allowed = choice?.object('allowed_tools')
  const result = { mode: allowed?.text('mode'), names: allowed?.texts('tools') ?? [] }
  if (dropped) {
    choice?.reportUnread(dropped)
    allowed?.reportUnread(dropped)
  }
  return result
}
const modeOf = (choice: Choice | undefined): string | undefined => choice?.mode?.toLowerCase()

const MODES: Readonly<Record<string, 'auto' | 'none' | 'required'>> = {
  auto: 'auto',
  validated: 'auto',
  any: 'required',
  none: 'none',
}
/** The choice restricts functions only: hosted tools stay available beside them. */
export const readChoice = (
  config: RequestObject | undefined,
  tools: readonly Tool[],
  dropped: DroppedFields,
): ToolChoice | undefined => {
  const choice = choiceIn(config, dropped)
  if (!choice) return undefined
  const mode = lookUp(MODES, modeOf(choice) ?? 'auto')
  const at = config?.pathOf('tool_choice') ?? ''
  if (!mode) throw valueFault(at, 'expected auto, any, none or validated')
  const { names } = choice
  if (names.length === 0 || mode === 'none') return { type: mode }
  if (mode === 'required' && names.length === 1) return { type: 'tool', name: names[0] as string }
  if (mode === 'required') return { type: 'some', mode, names }
  const hosted = tools.flatMap(tool => (tool.type === 'hosted' ? [tool.tool] : []))
  return { type: 'some', mode, names: [...names, ...hosted] }
}
