/** The tools of the providers: who runs each one, the meters that count it, and the unit that
 *  providers bill. A tool that is not in the table counts as `other_tools`. */
import type { Json } from '../../engine/plugin.ts'
import type { Meter, Meters } from '../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
} from './fields.ts'
import { OPEN } from './tiers.ts'

interface HostedTool {
  /** The unit that providers bill. `token`: the tokens of the answer's own usage, or those of
   *  `meters`. */
  readonly unit: 'call' | 'query' | 'session' | 'token'
  /** The names in requests: a type, Google's keys, and names of preset functions. */
  readonly names: RegExp
  /** The types of its items and blocks in answers, without `_call`. */
  readonly ran: RegExp
  /** Any of them may count a call. Empty: the answer's usage counts all that is billed. */
  readonly meters: readonly Meter[]
}
/** Plugins of OpenRouter that add nothing to the prompt. */
const READS_NOTHING = /^plugins\.(?:auto-router|response-healing|moderation|context-compression)$/
const HOSTED_TOOLS: readonly HostedTool[] = [
  // Gemini 2.5 bills an answer with searches, Gemini 3 each query, the others each call.
  {
    unit: 'query',
    names:
      /^(?:.*web_?search.*|google_?search.*|gx_search|exa_?ai_?search|parallel_?ai_?search|nova_grounding|search_parameters|enable_search|plugins\.web)$/i,
    ran: /^web_search$/,
    meters: ['web_search'],
  },
  { unit: 'call', names: /^x_search$/i, ran: /^x_search$/, meters: ['x_search'] },
  {
    unit: 'call',
    names: /^(?:collections|attachment|document)_search$/i,
    ran: /^(?:collections|attachment|document)_search$/,
    meters: ['collections_search'],
  },
  { unit: 'call', names: /^file_?search$/i, ran: /^file_search$/, meters: ['file_search'] },
  // Providers bill the container of an answer, not each program that runs in it.
  {
    unit: 'session',
    names: /^(?:code_?(?:execution|interpreter).*|nova_code_interpreter|hosted_shell)$/i,
    ran: /^(?:code_interpreter|(?:.*_)?code_execution|shell)$/,
    meters: ['code_execution'],
  },
  {
    unit: 'token',
    names: /^image_?generation$/i,
    ran: /^image_generation$/,
    meters: ['image_generation', 'image_generation_input', 'image_generation_output'],
  },
  { unit: 'query', names: /^google_?maps$/i, ran: /^google_maps$/, meters: ['google_maps'] },
  { unit: 'call', names: /^retrieval$/i, ran: /^retrieval$/, meters: ['retrieval'] },
  // Their input is part of the prompt, and their output part of the answer.
  {
    unit: 'token',
    names:
      /^(?:web_?fetch.*|url_?context|mcp|mcp_?servers?|mcp_?toolset|tool_search.*|advisor.*|programmatic_tool_calling)$/i,
    ran: /^(?:web_fetch|url_context|mcp|mcp_list_tools|mcp_approval_request|tool_search(?:_tool_.*)?|advisor|program|multi_agent)$/,
    meters: [],
  },
  {
    unit: 'token',
    names: new RegExp(READS_NOTHING.source, 'i'),
    ran: /(?!)/,
    meters: [],
  },
  // An agent runs its own tools, which its answer counts.
  { unit: 'token', names: /^agent$/, ran: /(?!)/, meters: [] },
]
/** Types of tools that clients run: they have no price. A `shell` may be hosted, see `namesOf`. */
const CLIENT_TOOLS =
  /^(?:function|custom|builtin_function|function_?declarations|namespace|computer(?:_?use.*|_\d+|_toolset.*)?|bash_\d+|text_editor_\d+|memory_\d+|browser_toolset.*|local_shell|shell|apply_patch|cache_?point|tool_?spec)$/i
const CLIENT_CALLS =
  /^(?:function|custom_tool|computer|local_shell|local|apply_patch|bash|text_editor|memory)$/

/** A tool that a request offers and a client does not run. */
export interface OfferedTool {
  readonly name: string
  /** Undefined: a tool that is not in the table. */
  readonly tool: HostedTool | undefined
}
export const offeredTools = (body: Fields): readonly OfferedTool[] => {
  const [lists, members] = [listsOf(body), memberNames(body)]
  if (lists.length === 0 && members.length === 0) return NO_OFFERS
  const names = new Set<string>()
  for (const tool of lists)
    if (tool.type !== 'function') for (const name of namesOf(tool)) names.add(name)
  for (const name of members) names.add(name)
  const offers = new Map<string, OfferedTool>()
  for (const name of names)
    if (!CLIENT_TOOLS.test(name)) offers.set(name, { name, tool: hostedToolOf(name) })
  // A function of the client may have any name: only those of known tools are preset.
  for (const each of lists) {
    const name = presetNameOf(each)
    const tool = name === undefined ? undefined : hostedToolOf(name)
    if (name !== undefined && tool) offers.set(name, { name, tool })
  }
  return [...offers.values()]
}
const NO_OFFERS: readonly OfferedTool[] = []
/** Tools whose definition the request has itself: it bounds what the model reads of them. */
const DEFINED_HERE = /^(?:custom|function_?declarations|namespace|cache_?point|tool_?spec)$/i
/** Tools of the provider's definition that the client runs: their results come in later requests.
 *  Sets of tools are not among them. */
const RUN_BY_CLIENT =
  /^(?:computer(?:_?use|_use_preview.*|_\d+)?|bash_\d+|text_editor_\d+|memory_\d+|local_shell|shell|apply_patch)$/i
/** Tokens that such a definition adds, at most: providers count some hundred tokens for a tool, and
 *  for computer use those of a system prompt, too. The rest is a reserve for later versions. */
const CLIENT_TOOL_TOKENS = 4_000
const isRunByClient = (tool: Fields): boolean =>
  typeof tool.type === 'string'
    ? RUN_BY_CLIENT.test(tool.type) && (tool.type !== 'shell' || !isInContainer(tool))
    : typeof tool.name !== 'string' && everyMember(tool, RUN_BY_CLIENT)
const everyMember = (tool: Fields, names: RegExp): boolean =>
  hasMembers(tool) && Object.keys(tool).every(name => names.test(name))
/** Tokens of the definitions that the provider adds for tools that the client runs. */
export const clientToolTokens = (body: Fields): number =>
  listsOf(body).filter(isRunByClient).length * CLIENT_TOOL_TOKENS

/** Whether the model may read more than the request has: results of tools that the provider runs,
 *  and definitions of tools that only the provider knows. */
export const readsBeyondRequest = (body: Fields): boolean =>
  listsOf(body).some(isDefinedElsewhere) ||
  memberNames(body).some(name => !READS_NOTHING.test(name))
const isDefinedElsewhere = (tool: Fields): boolean => {
  const { type } = tool
  if (type === 'function' || type === 'builtin_function') {
    const name = presetNameOf(tool)
    return name !== undefined && hostedToolOf(name) !== undefined
  }
  if (isRunByClient(tool)) return false
  if (typeof type === 'string') return !DEFINED_HERE.test(type)
  if (typeof tool.name === 'string') return false
  return Object.keys(tool).some(name => !DEFINED_HERE.test(name))
}

/** Attributes of the images of a tool that prices may depend on. */
export const IMAGE_TOOL_ATTRIBUTES = ['quality', 'size', 'background', 'output_format'] as const
/** A request's options for the images of a tool. The provider chooses the others. */
export const imageToolAttributes = (body: Json): Fields => {
  const tools = isFields(body) ? listsOf(body) : []
  const tool = tools.find(({ type }) => type === 'image_generation')
  if (!tool) return {}
  return Object.fromEntries(IMAGE_TOOL_ATTRIBUTES.map(name => [name, tool[name] ?? OPEN]))
}
/** How much of what it finds a search reads: some providers bill by it. */
export const searchContextSizeOf = (body: Fields): Json | undefined =>
  lenientObject(body, 'web_search_options').search_context_size ??
  toolsIn(body).find(tool => tool.search_context_size !== undefined)?.search_context_size

/** Whether a request names an agent of the provider in place of a model, as interactions do. */
export const namesAgent = ({ agent, model }: Fields): boolean =>
  typeof agent === 'string' && (model ?? null) === null

/** Members that switch on a search: OpenAI's, xAI's and DashScope's; OpenRouter's plugins;
 *  Anthropic's servers; and agents. */
const memberNames = (body: Fields): readonly string[] => {
  const { web_search_options, search_parameters, enable_search, plugins, mcp_servers } = body
  const names: string[] = []
  if ((web_search_options ?? null) !== null) names.push('web_search_options')
  if (isFields(search_parameters) && search_parameters.mode !== 'off')
    names.push('search_parameters')
  if (enable_search === true) names.push('enable_search')
  if (Array.isArray(plugins))
    for (const { id, enabled } of plugins.filter(isFields))
      if (typeof id === 'string' && enabled !== false) names.push(`plugins.${id}`)
  if (Array.isArray(mcp_servers) && mcp_servers.some(isFields)) names.push('mcp_servers')
  if (namesAgent(body)) names.push('agent')
  return names
}
/** A request of a long conversation has thousands of items: they are only looked at. */
const listsOf = (body: Fields): readonly Fields[] => {
  const { toolConfig, input } = body
  let tools = toolsIn(body)
  if (isFields(toolConfig)) tools = [...tools, ...toolsIn(toolConfig)]
  if (!Array.isArray(input)) return tools
  for (const item of input)
    if (isFields(item) && item.type === 'additional_tools') tools = [...tools, ...toolsIn(item)]
  return tools
}
/** Google accepts one object in place of a list; a namespace holds tools of its own. */
const toolsIn = ({ tools }: Fields): readonly Fields[] => {
  if (isFields(tools)) return withMembers(tools)
  if (!Array.isArray(tools)) return NO_TOOLS
  const objects = tools.every(isFields) ? tools : tools.filter(isFields)
  return objects.some(isNamespace) ? objects.flatMap(withMembers) : objects
}
const NO_TOOLS: readonly Fields[] = []
const isNamespace = ({ type }: Fields): boolean => type === 'namespace'
const withMembers = (tool: Fields): readonly Fields[] =>
  isNamespace(tool) ? [tool, ...toolsIn(tool)] : [tool]
/** Google names tools by their key; other formats by their type, which a client's own tool may
 *  lack. */
const namesOf = (tool: Fields): readonly string[] => {
  const type = lenientText(tool, 'type')
  if (type === 'shell') return isInContainer(tool) ? ['hosted_shell'] : NONE
  if (type !== undefined) return [type]
  if (typeof tool.name === 'string') return NONE
  return Object.keys(tool).flatMap(key => {
    const { name } = key === 'systemTool' ? lenientObject(tool, key) : { name: key }
    return typeof name === 'string' ? [name] : []
  })
}
const isInContainer = (shell: Fields): boolean =>
  /^container/.test(lenientText(lenientObject(shell, 'environment'), 'type') ?? '')
/** A function without parameters may name a hosted tool. */
const presetNameOf = ({ type, function: about }: Fields): string | undefined => {
  if ((type !== 'function' && type !== 'builtin_function') || !isFields(about)) return undefined
  const { name, parameters } = about
  if (typeof name !== 'string') return undefined
  return isFields(parameters) && hasMembers(parameters.properties) ? undefined : name
}
const hasMembers = (value: Json | undefined): boolean => {
  if (isFields(value)) for (const _ in value) return true
  return false
}
const hostedToolOf = (name: string): HostedTool | undefined =>
  HOSTED_TOOLS.find(({ names }) => names.test(name))
const NONE: readonly string[] = []

/** The meter of a call in an answer, by the type of its item or the name of its block, such as
 *  `web_search_call`; undefined: it costs nothing apart. */
export const meterOfCall = (type: string): Meter | undefined => {
  const name = type.replace(/_call$/, '')
  if (CLIENT_CALLS.test(name)) return undefined
  const tool = HOSTED_TOOLS.find(({ ran }) => ran.test(name))
  return tool ? tool.meters[0] : 'other_tools'
}

/** The meters of an upstream's own counts of calls, by names such as `web_search_calls`. `suffix`:
 *  ends the names of counts. */
export const metersOfCalls = (counts: Fields, suffix: '_calls' | '_requests'): Meters => {
  const meters: { [meter: string]: number } = {}
  for (const name in counts) {
    const meter = name.endsWith(suffix) ? meterOfCall(name.slice(0, -suffix.length)) : undefined
    if (meter) meters[meter] = (meters[meter] ?? 0) + count(counts[name])
  }
  return meters
}

/** Tools that all formats have: no format needs to run them. */
const FUNCTION_TOOLS: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'functionDeclarations',
  'function_declarations',
])
const STORED_FIELDS = ['web_search_options', 'prompt', 'cachedContent', 'cached_content'] as const
/** Whether the request offers tools that the provider may run. Stored prompts and cached content
 *  may offer some invisibly. Answers of other requests are not inspected. */
export const offersHostedTools = (body: Json | undefined): boolean =>
  isFields(body) &&
  (namesAgent(body) ||
    STORED_FIELDS.some(name => body[name] !== undefined && body[name] !== null) ||
    lenientObjects(body, 'plugins').length > 0 ||
    toolsIn(body).some(isHosted))
const isHosted = (tool: Fields): boolean => {
  if (typeof tool.type === 'string') return !FUNCTION_TOOLS.has(tool.type)
  if (typeof tool.name === 'string') return false
  return Object.keys(tool).some(name => !FUNCTION_TOOLS.has(name))
}
