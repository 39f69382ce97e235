/** Converts MCP servers, whose tools the provider calls: the servers are a field of the request,
 *  and each has a toolset among the tools. Without toolsets, as before 2025-11, every server offers
 *  its tools by its own configuration. */
import { type Fields, isFields } from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { McpServer, Tool } from '../hub/prompt.ts'
import { readCache } from './cache.ts'
import {
  type FieldPath,
  flagIn,
  listIn,
  memberPath,
  NAME,
  objectIn,
  objectsIn,
  requiredText,
  textIn,
  textsIn,
} from './members.ts'

export const TOOLSET = 'mcp_toolset'
/** The header with which the provider accepts servers and toolsets. */
const BETA = { 'anthropic-beta': 'mcp-client-2025-11-20' }

// ---------------------------------------------------------------- decoding

interface Server {
  readonly fields: Fields
  readonly at: FieldPath
}
const serversIn = (body: Fields): readonly Server[] =>
  objectsIn(listIn(body, 'mcp_servers', '') ?? [], 'mcp_servers')
/** The servers of a request by name; of several with one name, the first. */
export type Servers = ReadonlyMap<unknown, Server>
export const namedServersIn = (body: Fields): Servers =>
  new Map(
    serversIn(body)
      .map(server => [server.fields.name, server] as const)
      .reverse(),
  )

/** The toolset of a server. A toolset without its server concerns this provider only. */
export const readToolset = (toolset: Fields, at: FieldPath, servers: Servers): Tool => {
  const name = requiredText(toolset, 'mcp_server_name', at)
  const server = servers.get(name)
  const config = objectIn(toolset, 'default_config', at) ?? {}
  const configs = objectIn(toolset, 'configs', at) ?? {}
  const isOpen = flagIn(config, 'enabled', memberPath(at, 'default_config')) ?? true
  const namesWhere = (isEnabled: boolean): readonly string[] =>
    Object.keys(configs).filter(key => Object(configs[key]).enabled === isEnabled)
  const raw = { server: server?.fields ?? null, toolset }
  const isExclusion = isOpen && namesWhere(false).length > 0
  if (!server || isExclusion) {
    const reason = isExclusion ? 'single tools of a server cannot be excluded' : undefined
    return { type: 'foreign', origin: NAME, name, raw, ...(reason && { reason }) }
  }
  return {
    ...serverOf(server),
    ...(!isOpen && { allowedTools: namesWhere(true) }),
    hints: hintsIn(toolset, config, at),
    native: { origin: NAME, raw },
    ...readCache(toolset, at),
  }
}
const hintsIn = (toolset: Fields, config: Fields, at: FieldPath): readonly string[] => {
  const path = memberPath(at, 'default_config.defer_loading') ?? ''
  const pinned = memberPath(at, 'tools') ?? ''
  return [
    ...(config.defer_loading === true ? [path] : []),
    ...(Array.isArray(toolset.tools) ? [pinned] : []),
  ]
}
/** Servers that no toolset names. */
export const readServers = (body: Fields): readonly Tool[] => {
  const named = new Set(
    objectsIn(listIn(body, 'tools', '') ?? [], 'tools')
      .filter(({ fields }) => fields.type === TOOLSET)
      .map(({ fields }) => fields.mcp_server_name),
  )
  return serversIn(body)
    .filter(server => !named.has(server.fields.name))
    .map((server): McpServer => {
      const at = memberPath(server.at, 'tool_configuration')
      const config = objectIn(server.fields, 'tool_configuration', server.at) ?? {}
      const isOff = flagIn(config, 'enabled', at) === false
      const allowedTools = isOff ? [] : textsIn(config, 'allowed_tools', at)
      return {
        ...serverOf(server),
        ...(allowedTools && { allowedTools }),
        hints: [],
        native: { origin: NAME, raw: { server: server.fields } },
      }
    })
}
const serverOf = ({ fields, at }: Server): Pick<McpServer, 'type' | 'name' | 'url'> => {
  const authorization = textIn(fields, 'authorization_token', at)
  return {
    type: 'mcp',
    name: requiredText(fields, 'name', at),
    url: requiredText(fields, 'url', at),
    ...(authorization !== undefined && { authorization }),
  }
}

// ---------------------------------------------------------------- encoding

/** The declarations of this provider's own client. */
const ownDeclaration = (tool: Tool): Fields | undefined => {
  if (tool.type === 'mcp') return asOwn(tool.native.origin, tool.native.raw)
  return tool.type === 'foreign' ? asOwn(tool.origin, tool.raw) : undefined
}
const asOwn = (origin: string, raw: unknown): Fields | undefined =>
  origin === NAME && isFields(raw) && (isFields(raw.server) || isFields(raw.toolset))
    ? raw
    : undefined

/** Fields of the body, and the header that they need. */
export const mcpServerFields = (tools: readonly Tool[]): Fields => {
  const servers = tools.flatMap(tool => {
    const own = ownDeclaration(tool)
    if (own) return isFields(own.server) ? [own.server] : []
    return tool.type === 'mcp' ? [writeServer(tool)] : []
  })
  return servers.length > 0 ? { mcp_servers: servers } : {}
}
/** A client of this format sends the header itself. */
export const mcpHeaders = (tools: readonly Tool[]): { readonly headers?: typeof BETA } =>
  tools.some(tool => tool.type === 'mcp' && tool.native.origin !== NAME) ? { headers: BETA } : {}

const writeServer = ({ name, url, authorization }: McpServer): Fields => ({
  type: 'url',
  name,
  url,
  ...(authorization !== undefined && { authorization_token: authorization }),
})
/** Undefined for a tool of another kind; empty for a server without a toolset. */
export const writeToolset = (tool: Tool, dropped: DroppedFields): readonly Fields[] | undefined => {
  const own = ownDeclaration(tool)
  if (own) return isFields(own.toolset) ? [own.toolset] : []
  if (tool.type !== 'mcp') return undefined
  for (const hint of tool.hints) dropped.add(hint)
  const { name, allowedTools } = tool
  const choice = allowedTools && {
    default_config: { enabled: false },
    configs: Object.fromEntries(allowedTools.map(each => [each, { enabled: true }])),
  }
  return [{ type: TOOLSET, mcp_server_name: name, ...choice }]
}
