/** Converts tools and tool choice in both directions. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  flagIn,
  isFields,
  lenientObject,
  listIn,
  numberIn,
  omitNull,
  omitUndefined,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { type CacheWriter, readCacheHint } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts, ToolSupport } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type {
  FreeTool,
  FunctionTool,
  HostedTool,
  Prompt,
  Tool,
  ToolChoice,
  ToolNamespace,
} from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { strictly } from '../openai-strict.ts'
import { reportUnknown } from './decode-settings.ts'
import { readMcpServer, serverLabelOf, writeMcpServer } from './mcp-servers.ts'
import { NAME } from './name.ts'
import { foundTools, isClientSearch, readSearch, SEARCH } from './tool-search.ts'

// ---------------------------------------------------------------- read

export const readTools = (body: Fields, dropped: DroppedFields): readonly Tool[] => {
  const maxCalls = numberIn(body, 'max_tool_calls')
  const listed = (listIn(body, 'tools') ?? []).map(
    (value, index) => [value, `tools[${index}]`] as const,
  )
  const names = new Set(listed.map(([tool]) => nameIn(tool)))
  const loadedTools = foundTools(body.input).filter(([tool]) => !names.has(nameIn(tool)))
  const tools = [...listed, ...loadedTools].flatMap(([value, at]) => {
    const tool = requireObject(value, at)
    const type = requireMember(textIn(tool, 'type', `${at}.type`), `${at}.type`)
    if (type === 'namespace') return readNamespace(tool, at, dropped)
    return (READERS[type] ?? (HOSTED[type] ? readHosted : readForeign))(tool, at, dropped)
  })
  if (maxCalls === undefined) return tools
  if (!tools.some(tool => tool.type === 'hosted')) dropped.add('max_tool_calls')
  return tools.map(tool => (tool.type === 'hosted' ? { ...tool, maxCalls } : tool))
}
const nameIn = (tool: Json): string | undefined =>
  isFields(tool) && typeof tool.name === 'string' ? tool.name : undefined
/** A group of functions. Deferred loading applies only together with a search for tools. */
const readNamespace = (group: Fields, at: string, dropped: DroppedFields): readonly Tool[] => {
  const description = textIn(group, 'description', `${at}.description`)
  const namespace: ToolNamespace = {
    name: requireMember(textIn(group, 'name', `${at}.name`), `${at}.name`),
    ...(description !== undefined && { description }),
    raw: group,
  }
  return (listIn(group, 'tools', `${at}.tools`) ?? []).map((value, index): Tool => {
    const path = `${at}.tools[${index}]`
    const { defer_loading: _, ...tool } = requireObject(value, path)
    if (tool.type === 'function') return { ...readFunction(tool, path, dropped), namespace }
    if (tool.type === 'custom') return { ...readFree(tool, path, dropped), namespace }
    throw fault('MEMBER_VALUE', [`${path}.type`, "expected 'function' or 'custom'"], {
      param: `${path}.type`,
    })
  })
}
const readFunction = (tool: Fields, at: string, dropped: DroppedFields): FunctionTool => {
  const description = textIn(tool, 'description', `${at}.description`)
  const schema = fieldsIn(tool, 'parameters', `${at}.parameters`)
  const strict = flagIn(tool, 'strict', `${at}.strict`)
  reportUnknown(tool, FUNCTION_FIELDS, at, dropped)
  return {
    type: 'function',
    name: requireMember(textIn(tool, 'name', `${at}.name`), `${at}.name`),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(strict !== undefined && { strict }),
    ...readCacheHint(tool, at),
  }
}
const CACHE_FIELDS = ['cache_control', 'prompt_cache_breakpoint']
const FUNCTION_FIELDS: ReadonlySet<string> = new Set([
  ...CACHE_FIELDS,
  'type',
  'name',
  'description',
  'parameters',
  'strict',
])
const readFree = (tool: Fields, at: string, dropped: DroppedFields): FreeTool => {
  const description = textIn(tool, 'description', `${at}.description`)
  const grammar = fieldsIn(tool, 'format', `${at}.format`)
  reportUnknown(tool, FREE_FIELDS, at, dropped)
  return {
    type: 'free',
    name: requireMember(textIn(tool, 'name', `${at}.name`), `${at}.name`),
    ...(description !== undefined && { description }),
    ...(grammar !== undefined && { grammar }),
    ...readCacheHint(tool, at),
  }
}
const FREE_FIELDS: ReadonlySet<string> = new Set([
  ...CACHE_FIELDS,
  'type',
  'name',
  'description',
  'format',
])

const readHosted = (tool: Fields, at: string, dropped: DroppedFields): HostedTool => {
  const clientName = textIn(tool, 'type') ?? ''
  const filters = fieldsIn(tool, 'filters', `${at}.filters`) ?? {}
  const allowed = textsIn(filters, 'allowed_domains', `${at}.filters.allowed_domains`)
  const blocked = textsIn(filters, 'blocked_domains', `${at}.filters.blocked_domains`)
  const { type: _, ...location } = omitNull(
    fieldsIn(tool, 'user_location', `${at}.user_location`) ?? {},
  )
  const depth = textIn(tool, 'search_context_size', `${at}.search_context_size`)
  const stores = textsIn(tool, 'vector_store_ids', `${at}.vector_store_ids`)
  // A container that the provider creates when needed is what every provider offers.
  const container = isFields(tool.container) && lenientObject(tool, 'container').type === 'auto'
  if (container)
    for (const key in omitNull(lenientObject(tool, 'container')))
      if (key !== 'type') dropped.add(`${at}.container.${key}`)
  reportUnknown(
    tool,
    container ? new Set([...HOSTED_FIELDS, 'container']) : HOSTED_FIELDS,
    at,
    dropped,
  )
  return {
    type: 'hosted',
    tool: HOSTED[clientName] ?? 'web_search',
    clientName,
    at: `${at}.${clientName}`,
    ...((allowed || blocked) && {
      domains: { ...(allowed && { allowed }), ...(blocked && { blocked }) },
    }),
    ...(Object.keys(location).length > 0 && { location }),
    ...(depth !== undefined && { depth }),
    ...(stores && { stores }),
  }
}
const HOSTED_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'filters',
  'user_location',
  'search_context_size',
  'vector_store_ids',
])
const HOSTED: Readonly<Record<string, HostedToolName>> = {
  web_search: 'web_search',
  web_search_2025_08_26: 'web_search',
  web_search_preview: 'web_search',
  web_search_preview_2025_03_11: 'web_search',
  code_interpreter: 'code_execution',
  file_search: 'file_search',
  image_generation: 'image_generation',
}
/** Members of hosted tools in reports -> the names that clients of this format use. */
export const TOOL_FIELD_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(HOSTED).flatMap(name => [
    [`${name}.max_uses`, 'max_tool_calls'],
    [`${name}.allowed_domains`, `${name}.filters.allowed_domains`],
    [`${name}.blocked_domains`, `${name}.filters.blocked_domains`],
  ]),
)
const readForeign = (tool: Fields, at: string): Tool => {
  const name = textIn(tool, 'type') ?? ''
  const isOptional = name === SEARCH
  return {
    type: 'foreign',
    origin: NAME,
    name,
    raw: tool,
    ...(isOptional && { at: `${at}.${name}` }),
  }
}
const READERS: Readonly<
  Record<string, (tool: Fields, at: string, dropped: DroppedFields) => Tool>
> = {
  function: readFunction,
  custom: readFree,
  mcp: readMcpServer,
  [SEARCH]: (tool, at) => (isClientSearch(tool) ? readSearch(tool, at) : readForeign(tool, at)),
}
const textsIn = (fields: Fields, key: string, at: string): readonly string[] | undefined =>
  listIn(fields, key, at)?.map((value, index) => {
    if (typeof value === 'string') return value
    const path = `${at}[${index}]`
    throw fault('MEMBER_TYPE', [path, 'a string'], { param: path })
  })

export const readChoice = (
  value: Json | undefined,
  dropped: DroppedFields,
): ToolChoice | undefined => {
  if (value === undefined || value === null) return undefined
  if (value === 'auto' || value === 'none' || value === 'required') return { type: value }
  if (!isFields(value))
    throw fault('MEMBER_VALUE', ['tool_choice', 'expected a string or an object'], {
      param: 'tool_choice',
    })
  if (value.type === 'mcp') {
    const name = requireMember(nameOf(value, 'tool_choice'), 'tool_choice.server_label')
    const serverTool = textIn(value, 'name', 'tool_choice.name')
    return { type: 'tool', name, ...(serverTool !== undefined && { serverTool }) }
  }
  const name = nameOf(value, 'tool_choice')
  if (value.type !== 'allowed_tools') {
    const namespace = textIn(value, 'namespace', 'tool_choice.namespace')
    if (name !== undefined)
      return { type: 'tool', name, ...(namespace !== undefined && { namespace }) }
    dropped.add('tool_choice')
    return undefined
  }
  const mode = textIn(value, 'mode', 'tool_choice.mode') === 'required' ? 'required' : 'auto'
  const names = (listIn(value, 'tools', 'tool_choice.tools') ?? []).flatMap((tool, index) => {
    const at = `tool_choice.tools[${index}]`
    return nameOf(requireObject(tool, at), at) ?? []
  })
  return { type: 'some', mode, names }
}
/** The tool's name; for hosted tools the hub's name. */
const nameOf = (tool: Fields, at: string): string | undefined => {
  const type = textIn(tool, 'type', `${at}.type`) ?? ''
  if (type === 'mcp') return textIn(tool, 'server_label', `${at}.server_label`)
  return type in READERS
    ? requireMember(textIn(tool, 'name', `${at}.name`), `${at}.name`)
    : HOSTED[type]
}

// ---------------------------------------------------------------- write

export const toolSupport: ToolSupport = {
  format: NAME,
  names: { invalid: /[^A-Za-z0-9_-]/g, maxLength: 64 },
  runs: tool => runsTool(tool),
  takesFreeText: ({ traits }) => traits.custom_tools !== false,
}

export const writeTools = (
  { tools, choice }: Prompt,
  hint: CacheWriter,
  dropped: DroppedFields,
): Fields => {
  const limitedTools = tools.flatMap(tool =>
    tool.type === 'hosted' && tool.maxCalls !== undefined ? [tool] : [],
  )
  // This format has one limit for all hosted tools.
  const maxCalls = limitedTools[0]?.maxCalls
  for (const tool of limitedTools)
    if (tool.maxCalls !== maxCalls) dropped.add(`${tool.clientName}.max_uses`)
  return omitUndefined({
    ...(tools.length > 0 && { tools: declarationsOf(tools, hint, dropped) }),
    tool_choice: choice && tools.length > 0 ? writeChoice(choice, tools) : undefined,
    max_tool_calls: maxCalls,
  })
}
/** The tools of a group share one declaration. */
const declarationsOf = (
  tools: readonly Tool[],
  hint: CacheWriter,
  dropped: DroppedFields,
): readonly Json[] => [
  ...new Set(
    tools.map(tool =>
      'namespace' in tool && tool.namespace ? tool.namespace.raw : writeTool(tool, hint, dropped),
    ),
  ),
]
const writeTool = (tool: Tool, hint: CacheWriter, dropped: DroppedFields): Json => {
  const cached = 'cache' in tool ? hint(tool.cache) : {}
  if (tool.type === 'function') return { ...writeFunction(tool, dropped), ...cached }
  if (tool.type === 'free')
    return omitUndefined({
      type: 'custom',
      name: tool.name,
      description: tool.description,
      format: tool.grammar,
      ...cached,
    })
  if (tool.type === 'hosted') return { ...writeHosted(tool, dropped), ...cached }
  if (tool.type === 'mcp') return writeMcpServer(tool, dropped)
  if (tool.origin !== NAME) throw unsupportedTool(tool)
  return tool.raw
}
/** This format's default is a strict schema; all other formats default to non-strict. */
const writeFunction = (
  { name, description, schema: ownSchema, strict: isAsked, native }: FunctionTool,
  dropped: DroppedFields,
): Fields => {
  if (native?.origin === NAME && isFields(native.raw)) return native.raw
  const parameters = objectSchema(ownSchema)
  const { schema, strict } = strictly(parameters, isAsked, 'strict', dropped)
  return omitUndefined({
    type: 'function',
    name,
    description,
    parameters: schema,
    strict: strict ?? false,
  })
}

const writeHosted = (
  { tool, clientName, domains, location, depth, stores = [] }: HostedTool,
  dropped: DroppedFields,
): Fields => {
  const type = WIRE_TYPES[tool]
  if (!type) throw fault('TOOL_UNSUPPORTED', [clientName])
  if (domains?.blocked) dropped.add('blocked_domains')
  if (tool === 'code_execution') return { type, container: { type: 'auto' } }
  if (tool === 'file_search') return { type, vector_store_ids: stores }
  if (tool === 'image_generation') return { type }
  return omitUndefined({
    type,
    filters: domains?.allowed && { allowed_domains: domains.allowed },
    user_location: isFields(location) ? { type: 'approximate', ...location } : undefined,
    search_context_size: depth,
  })
}
/** Google's file stores have paths as ids. */
const runsTool = ({ tool, stores = [] }: HostedTool): boolean =>
  WIRE_TYPES[tool] !== undefined && !stores.some(store => store.includes('/'))
const WIRE_TYPES: Readonly<Partial<Record<HostedToolName, string>>> = {
  web_search: 'web_search',
  code_execution: 'code_interpreter',
  file_search: 'file_search',
  image_generation: 'image_generation',
}

const writeChoice = (choice: ToolChoice, tools: readonly Tool[]): Json => {
  if (choice.type === 'tool') {
    const { name, namespace, serverTool } = choice
    const member = serverTool === undefined ? {} : { name: serverTool }
    const selected = choiceOf(name, tools)
    // No single choice has this name; a list of one does.
    if (selected.type === 'web_search')
      return { type: 'allowed_tools', mode: 'required', tools: [selected] }
    return omitUndefined({ ...selected, ...member, namespace })
  }
  if (choice.type !== 'some') return choice.type
  const { mode, names } = choice
  return { type: 'allowed_tools', mode, tools: names.map(name => choiceOf(name, tools)) }
}
const choiceOf = (name: string, tools: readonly Tool[]): Fields => {
  const tool = tools.find(candidate =>
    candidate.type === 'hosted' ? candidate.tool === name : candidate.name === name,
  )
  if (tool?.type === 'mcp') return { type: 'mcp', server_label: serverLabelOf(name) }
  if (tool?.type === 'hosted') return { type: WIRE_TYPES[tool.tool] ?? name }
  return { type: tool?.type === 'free' ? 'custom' : 'function', name }
}

/** Not all upstreams of this format have custom tools. */
export const needsTranslation = (
  { tools, input }: Fields,
  { custom_tools: takesCustom }: TargetFacts['traits'],
): boolean =>
  takesCustom === false && [tools, input].some(list => Array.isArray(list) && list.some(isCustom))
const isCustom = (value: Json): boolean =>
  isFields(value) &&
  (String(value.type).startsWith('custom') ||
    (Array.isArray(value.tools) && value.tools.some(isCustom)))
