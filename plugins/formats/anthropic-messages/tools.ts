/** Converts tools and tool choice. */
import { subsetOf } from '../closed-schema.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields, omitNull } from '../fields.ts'
import type { DroppedFields, TargetFacts, ToolSupport } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type {
  FreeTool,
  FunctionTool,
  HostedTool,
  McpServer,
  Prompt,
  Tool,
  ToolChoice,
} from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { readCache, writeCache } from './cache.ts'
import { clientToolOf } from './client-tools.ts'
import { namedServersIn, readServers, readToolset, TOOLSET, writeToolset } from './mcp-servers.ts'
import {
  type FieldPath,
  flagIn,
  listIn,
  memberPath,
  NAME,
  numberIn,
  objectIn,
  objectsIn,
  rejectValue,
  requiredText,
  textIn,
  textsIn,
} from './members.ts'
import { encodeFreeToolName, NAME_RULE } from './names.ts'

// ---------------------------------------------------------------- decoding

const HOSTED: readonly (readonly [type: RegExp, tool: HostedToolName])[] = [
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
  [/^code_execution_\d{8}$/, 'code_execution'],
]
/** Fields of a tool that the hub can express. */
const SUPPORTED_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'name',
  'cache_control',
  'description',
  'input_schema',
  'strict',
  'allowed_domains',
  'blocked_domains',
  'user_location',
  'max_uses',
])

export const readTools = (body: Fields, dropped: DroppedFields): readonly Tool[] => {
  const tools = objectsIn(listIn(body, 'tools', '') ?? [], 'tools')
  const servers = namedServersIn(body)
  return [
    ...tools.map(({ fields, at }) =>
      fields.type === TOOLSET ? readToolset(fields, at, servers) : readTool(fields, at, dropped),
    ),
    ...readServers(body),
  ]
}

const readTool = (tool: Fields, at: FieldPath, dropped: DroppedFields): Tool => {
  const type = textIn(tool, 'type', at) ?? 'custom'
  const hostedTool = HOSTED.find(([pattern]) => pattern.test(type))?.[1]
  if (type !== 'custom' && hostedTool === undefined) return readForeign(tool, type, at)
  for (const path of unsupportedIn(tool, at)) dropped.add(path)
  // At other providers, `strict` is a member of functions only.
  if (hostedTool && (tool.strict ?? null) !== null)
    dropped.add(memberPath(at, 'strict') ?? 'strict')
  return hostedTool === undefined ? readFunction(tool, at) : readHosted(tool, hostedTool, type, at)
}
const unsupportedIn = (tool: Fields, at: FieldPath): readonly string[] =>
  Object.keys(tool)
    .filter(key => !SUPPORTED_FIELDS.has(key) && tool[key] !== null)
    .map(key => memberPath(at, key) ?? key)
const readForeign = (tool: Fields, type: string, at: FieldPath): Tool => {
  const name = textIn(tool, 'name', at) ?? type
  const clientTool = clientToolOf(type)
  if (clientTool) {
    const strict = flagIn(tool, 'strict', at)
    const settings = unsupportedIn(tool, at)
    return {
      type: 'function',
      name,
      ...clientTool,
      ...(strict !== undefined && { strict }),
      native: { origin: NAME, raw: tool, ...(settings.length > 0 && { settings }) },
      ...readCache(tool, at),
    }
  }
  const path = OPTIONAL.test(type) ? memberPath(at, name) : undefined
  return { type: 'foreign', origin: NAME, name, raw: tool, ...(path !== undefined && { at: path }) }
}
/** Tools that the provider runs and that no other provider has. */
const OPTIONAL = /^(?:tool_search_tool|advisor)_/

const readFunction = (tool: Fields, at: FieldPath): FunctionTool => {
  const description = textIn(tool, 'description', at)
  const schema = objectIn(tool, 'input_schema', at)
  const strict = flagIn(tool, 'strict', at)
  return {
    type: 'function',
    name: requiredText(tool, 'name', at),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(strict !== undefined && { strict }),
    ...readCache(tool, at),
  }
}
const readHosted = (
  tool: Fields,
  name: HostedToolName,
  clientName: string,
  at: FieldPath,
): HostedTool => {
  const allowed = textsIn(tool, 'allowed_domains', at)
  const blocked = textsIn(tool, 'blocked_domains', at)
  const { type: _, ...location } = omitNull(objectIn(tool, 'user_location', at) ?? {})
  const maxCalls = numberIn(tool, 'max_uses', at)
  const domains = { ...(allowed && { allowed }), ...(blocked && { blocked }) }
  const path = memberPath(at, clientName)
  return {
    type: 'hosted',
    tool: name,
    clientName,
    ...(path !== undefined && { at: path }),
    ...(Object.keys(domains).length > 0 && { domains }),
    ...(Object.keys(location).length > 0 && { location }),
    ...(maxCalls !== undefined && { maxCalls }),
    ...readCache(tool, at),
  }
}

type ReadChoice = (choice: Fields, at: FieldPath) => ToolChoice
const CHOICES: Readonly<Record<string, ReadChoice>> = {
  auto: () => ({ type: 'auto' }),
  any: () => ({ type: 'required' }),
  none: () => ({ type: 'none' }),
  tool: (choice, at) => ({ type: 'tool', name: requiredText(choice, 'name', at) }),
}
export const readChoice = (body: Fields): { readonly choice?: ToolChoice } => {
  const value = objectIn(body, 'tool_choice', '')
  if (!value) return {}
  const type = requiredText(value, 'type', 'tool_choice')
  const choice =
    CHOICES[type]?.(value, 'tool_choice') ?? rejectValue('tool_choice.type', `'${type}'`)
  return choice ? { choice } : {}
}

// ---------------------------------------------------------------- encoding

export const toolSupport: ToolSupport = {
  format: NAME,
  names: NAME_RULE,
  runs: tool => runsTool(tool),
}

/** The tools that may be called: this format cannot offer others beside them. */
export const offeredTools = ({ tools, choice }: Prompt): readonly Tool[] => {
  if (choice?.type === 'some') return tools.filter(tool => matchesName(tool, choice.names))
  const server = forcedServer(choice, tools)
  return server ? [server] : tools
}
/** The MCP server whose call is forced: the format can force a call only if it is offered alone. */
const forcedServer = (
  choice: ToolChoice | undefined,
  tools: readonly Tool[],
): McpServer | undefined => {
  if (choice?.type !== 'tool') return undefined
  const { name, serverTool } = choice
  const server = tools.find(tool => tool.type === 'mcp' && tool.name === name)
  if (server?.type !== 'mcp') return undefined
  return serverTool === undefined ? server : { ...server, allowedTools: [serverTool] }
}

export const writeTools = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): readonly Fields[] =>
  offeredTools(prompt).flatMap(
    tool => writeToolset(tool, dropped) ?? writeTool(tool, target, dropped),
  )
const matchesName = (tool: Tool, names: readonly string[]): boolean =>
  tool.type === 'hosted'
    ? names.includes(tool.tool) || names.includes(tool.clientName)
    : names.includes(tool.name)

const writeTool = (tool: Tool, target: TargetFacts, dropped: DroppedFields): Fields => {
  if (tool.type === 'function') return writeFunction(tool, target, dropped)
  if (tool.type === 'free') return writeFree(tool)
  if (tool.type === 'hosted') return writeHosted(tool, dropped)
  if (tool.type === 'mcp' || tool.origin !== NAME || !isFields(tool.raw))
    throw unsupportedTool(tool)
  return tool.raw
}
const writeFunction = (
  tool: FunctionTool,
  { traits }: TargetFacts,
  dropped: DroppedFields,
): Fields => {
  const { name, description, schema, strict = false, native } = tool
  if (native?.origin === NAME && isFields(native.raw)) return native.raw
  const subset = strict && traits.structured !== false ? subsetOf(objectSchema(schema)) : undefined
  if (strict && !subset?.isEqual) dropped.add('strict')
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: subset?.isEqual ? subset.schema : objectSchema(schema),
    ...(subset?.isEqual && { strict }),
    ...writeCache(tool),
  }
}
/** A tool with free text input becomes a function with one argument. */
const writeFree = ({ name, description, grammar, cache }: FreeTool): Fields => {
  const form = grammar === undefined ? undefined : `Its input follows: ${JSON.stringify(grammar)}`
  const fullDescription = [description, form].filter(each => each !== undefined).join('\n\n')
  return {
    name: encodeFreeToolName(name),
    ...(fullDescription !== '' && { description: fullDescription }),
    input_schema: FREE_INPUT,
    ...writeCache({ cache }),
  }
}
const FREE_INPUT: Fields = Object.freeze({
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
})

/** The versions that all models with the tool accept. */
const VERSIONS: Readonly<Partial<Record<HostedToolName, readonly [type: string, name: string]>>> = {
  web_search: ['web_search_20250305', 'web_search'],
  web_fetch: ['web_fetch_20250910', 'web_fetch'],
  url_context: ['web_fetch_20250910', 'web_fetch'],
  code_execution: ['code_execution_20250825', 'code_execution'],
}
const runsTool = ({ tool, stores }: HostedTool): boolean => VERSIONS[tool] !== undefined && !stores
const writeHosted = (tool: HostedTool, dropped: DroppedFields): Fields => {
  const version = VERSIONS[tool.tool]
  if (!version || !runsTool(tool)) throw fault('TOOL_UNSUPPORTED', [tool.clientName])
  const [defaultType, name] = version
  const type = HOSTED.some(([pattern]) => pattern.test(tool.clientName))
    ? tool.clientName
    : defaultType
  if (tool.depth !== undefined && tool.depth !== 'medium')
    dropped.add(`${tool.clientName}.search_context_size`)
  return { type, name, ...limitsOf(tool, dropped), ...writeCache(tool) }
}
/** Limits of a hosted tool: domains, location and number of calls. */
const limitsOf = (
  { tool, clientName, domains = {}, location, maxCalls }: HostedTool,
  dropped: DroppedFields,
): Fields => {
  if (tool === 'code_execution') {
    if (maxCalls !== undefined) dropped.add(`${clientName}.max_uses`)
    return {}
  }
  const { allowed = [], blocked = [] } = domains
  if (allowed.length > 0 && blocked.length > 0) dropped.add(`${clientName}.blocked_domains`)
  const hasLocation = tool === 'web_search' && isFields(location)
  return {
    ...(allowed.length > 0 && { allowed_domains: [...allowed] }),
    ...(allowed.length === 0 && blocked.length > 0 && { blocked_domains: [...blocked] }),
    ...(hasLocation && { user_location: { type: 'approximate', ...location } }),
    ...(maxCalls !== undefined && { max_uses: maxCalls }),
  }
}

/** Undefined if the request needs no choice. */
export const writeChoice = ({ choice, settings, tools }: Prompt): Fields | undefined => {
  const isSequential = settings.parallel === false
  const choiceFields = CHOICE_WRITERS[choice?.type ?? 'auto'](choice, tools)
  if (!choice && !isSequential) return undefined
  return {
    ...choiceFields,
    ...(isSequential && choiceFields.type !== 'none' && { disable_parallel_tool_use: true }),
  }
}
type WriteChoice = (choice: ToolChoice | undefined, tools: readonly Tool[]) => Fields
const CHOICE_WRITERS: Readonly<Record<ToolChoice['type'], WriteChoice>> = {
  auto: () => ({ type: 'auto' }),
  none: () => ({ type: 'none' }),
  required: () => ({ type: 'any' }),
  tool: (choice, tools) =>
    forcedServer(choice, tools)
      ? { type: 'any' }
      : { type: 'tool', name: choice?.type === 'tool' ? wireName(choice.name, tools) : '' },
  some: choice => ({
    type: choice?.type === 'some' && choice.mode === 'required' ? 'any' : 'auto',
  }),
}
/** The name of a tool in this format. */
const wireName = (name: string, tools: readonly Tool[]): string => {
  const tool = tools.find(each => matchesName(each, [name]))
  if (tool?.type === 'free') return encodeFreeToolName(name)
  return (tool?.type === 'hosted' && VERSIONS[tool.tool]?.[1]) || name
}
