/** Converts MCP servers, whose tools the provider calls. */
import { fault } from '../faults.ts'
import { type Fields, isFields, listIn, omitUndefined, textIn } from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { McpServer, Tool } from '../hub/prompt.ts'
import { NAME } from './name.ts'

/** Members that other formats lack: without them the server works in another way, or not at all. */
const LIMITS: Readonly<Record<string, string>> = {
  connector_id: 'connectors belong to its own provider',
  tunnel_id: 'tunnels belong to its own provider',
  headers: 'headers for the server cannot be sent',
}
/** Members that are hints. */
const HINTS: readonly string[] = ['server_description', 'defer_loading', 'allowed_callers']

/** A server without an equivalent in other formats stays a tool of this provider. */
export const readMcpServer = (tool: Fields, at: string): Tool => {
  const name = textIn(tool, 'server_label', `${at}.server_label`) ?? 'mcp'
  const url = textIn(tool, 'server_url', `${at}.server_url`)
  const authorization = textIn(tool, 'authorization', `${at}.authorization`)
  const reason = limitOf(tool, url)
  if (reason !== undefined || url === undefined)
    return { type: 'foreign', origin: NAME, name, raw: tool, ...(reason && { reason }) }
  const allowedTools = allowedToolsIn(tool, at)
  return {
    type: 'mcp',
    name,
    url,
    ...(authorization !== undefined && { authorization }),
    ...(allowedTools && { allowedTools }),
    hints: HINTS.filter(key => (tool[key] ?? null) !== null).map(key => `${at}.${key}`),
    native: { origin: NAME, raw: tool },
  }
}
const limitOf = (tool: Fields, url: string | undefined): string | undefined => {
  const limits = Object.entries(LIMITS).find(([key]) => (tool[key] ?? null) !== null)
  if (limits) return limits[1]
  if (url !== undefined && tool.require_approval !== 'never')
    return 'calls cannot be approved one by one; set require_approval to "never"'
  const { allowed_tools: filter } = tool
  return isFields(filter) && (filter.read_only ?? null) !== null
    ? 'its tools cannot be chosen by read_only'
    : undefined
}
const allowedToolsIn = (tool: Fields, at: string): readonly string[] | undefined => {
  const { allowed_tools: filter } = tool
  const [fields, key, path] = isFields(filter)
    ? [filter, 'tool_names', `${at}.allowed_tools.tool_names`]
    : [tool, 'allowed_tools', `${at}.allowed_tools`]
  return listIn(fields, key, path)?.map((name, index) => {
    if (typeof name === 'string') return name
    const param = `${path}[${index}]`
    throw fault('MEMBER_TYPE', [param, 'a string'], { param })
  })
}

export const writeMcpServer = (
  { name, url, authorization, allowedTools, hints, native }: McpServer,
  dropped: DroppedFields,
): Fields => {
  if (native.origin === NAME && isFields(native.raw)) return native.raw
  for (const hint of hints) dropped.add(hint)
  return omitUndefined({
    type: 'mcp',
    server_label: serverLabelOf(name),
    server_url: url,
    authorization,
    allowed_tools: allowedTools,
    require_approval: 'never',
  })
}
/** Letters, digits, `-` and `_`, the first of them a letter. */
export const serverLabelOf = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^(?![A-Za-z])/, 's')
