/** Encodes tools for an upstream: all functions in one entry, each hosted tool in its own. */
import { fault } from '../faults.ts'
import { type Fields, isFields, omitUndefined } from '../fields.ts'
import { dropCache } from '../hub/cache-hint.ts'
import type { DroppedFields, ToolSupport } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import { clientNameOf } from '../hub/offered-tools.ts'
import {
  type FreeTool,
  type FunctionTool,
  type HostedTool,
  isRunByProvider,
  type Prompt,
  type Tool,
  type ToolChoice,
} from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { encodeToolName, NAME, NAME_RULE } from './name.ts'
import { convertToOpenApi, isEmpty } from './schema.ts'
import { type Traits, traitsOf } from './traits.ts'

const HOSTED: Readonly<Partial<Record<HostedToolName, string>>> = {
  web_search: 'googleSearch',
  web_fetch: 'urlContext',
  url_context: 'urlContext',
  code_execution: 'codeExecution',
  file_search: 'fileSearch',
}

export const toolSupport: ToolSupport = {
  format: NAME,
  names: NAME_RULE,
  runs: tool => runsTool(tool),
  mixesTools: target => traitsOf(target).mixesTools,
}

export const writeTools = (prompt: Prompt, traits: Traits, dropped: DroppedFields): Fields => {
  const { choice } = prompt
  const tools = offeredTools(prompt.tools, choice)
  const functions = tools.filter(tool => tool.type === 'function' || tool.type === 'free')
  const hostedTools =
    choice?.type === 'none'
      ? []
      : withoutDuplicates(tools.flatMap(tool => writeHostedTools(tool, traits, dropped)))
  const isStrict = functions.some(tool => tool.type === 'function' && tool.strict)
  if (isStrict && !traits.isStrict) dropped.add('strict')
  if (hostedTools.length > 0 && functions.length > 0 && !traits.mixesTools)
    throw mixedToolsFault(tools)
  const declarations = functions.map(tool => declare(tool, traits, dropped))
  const entries = [
    ...hostedTools,
    ...(declarations.length > 0 ? [{ functionDeclarations: declarations }] : []),
  ]
  if (entries.length === 0) return {}
  const functionChoice = choice && choiceAmongFunctions(choice, functions, dropped)
  const calling =
    functions.length > 0
      ? callingConfigOf(functionChoice, functions, isStrict && traits.isStrict)
      : undefined
  const config = omitUndefined({
    functionCallingConfig: calling,
    // Makes the model return its hosted calls, which the next turn must send back.
    includeServerSideToolInvocations:
      hostedTools.length > 0 && traits.mixesTools ? true : undefined,
  })
  return {
    tools: entries,
    ...(Object.keys(config).length > 0 && { toolConfig: config }),
  }
}

/** A client may have requested the same tool under two names. */
const withoutDuplicates = (tools: readonly Fields[]): readonly Fields[] => [
  ...new Map(tools.map(tool => [Object.keys(tool).join(), tool])).values(),
]
/** This format cannot restrict the choice without forcing a call, so tools outside the choice are
 *  omitted. */
const offeredTools = (tools: readonly Tool[], choice: ToolChoice | undefined): readonly Tool[] => {
  if (choice?.type !== 'some' || choice.mode !== 'auto') return tools
  return tools.filter(tool => !('name' in tool) || choice.names.includes(tool.name))
}
/** Hosted tools cannot be forced; only functions are chosen by name. */
const choiceAmongFunctions = (
  choice: ToolChoice,
  functions: readonly (FunctionTool | FreeTool)[],
  dropped: DroppedFields,
): ToolChoice | undefined => {
  const forces = choice.type === 'tool' || (choice.type === 'some' && choice.mode === 'required')
  const requestedNames =
    choice.type === 'tool' ? [choice.name] : choice.type === 'some' ? choice.names : []
  const names = requestedNames.filter(requestedName =>
    functions.some(({ name }) => name === requestedName),
  )
  const cannotRequire = functions.length === 0 && choice.type === 'required'
  if (cannotRequire || (forces && names.length < requestedNames.length)) dropped.add('tool_choice')
  if (choice.type === 'tool') return names.length > 0 ? choice : undefined
  return choice.type === 'some' && names.length > 0 ? { ...choice, names } : withoutNames(choice)
}
const withoutNames = (choice: ToolChoice): ToolChoice =>
  choice.type === 'some' ? { type: 'auto' } : choice
const mixedToolsFault = (tools: readonly Tool[]): Error => {
  const hostedTool = tools.find(isRunByProvider)
  return fault('TOOLS_MIXED', [hostedTool ? clientNameOf(hostedTool) : ''])
}

const callingConfigOf = (
  choice: ToolChoice | undefined,
  functions: readonly (FunctionTool | FreeTool)[],
  isStrict: boolean,
): Fields | undefined => {
  const forceFunctions = (names: readonly string[]): Fields => ({
    mode: 'ANY',
    allowedFunctionNames: names.map(name =>
      encodeToolName({
        name,
        isFreeText: functions.some(each => each.name === name && each.type === 'free'),
      }),
    ),
  })
  const defaultMode = isStrict ? { mode: 'VALIDATED' } : undefined
  if (!choice) return defaultMode
  if (choice.type === 'tool') return forceFunctions([choice.name])
  if (choice.type === 'some')
    return choice.mode === 'required'
      ? forceFunctions(choice.names)
      : (defaultMode ?? { mode: 'AUTO' })
  return choice.type === 'auto' ? (defaultMode ?? { mode: 'AUTO' }) : { mode: MODES[choice.type] }
}
const MODES = { none: 'NONE', required: 'ANY' } as const

const declare = (tool: FunctionTool | FreeTool, traits: Traits, dropped: DroppedFields): Fields => {
  if (tool.type === 'free') return declareFree(tool, traits, dropped)
  const { name, description, schema, cache } = tool
  dropCache(cache, dropped)
  const parameters = isFields(schema) ? schema : undefined
  return omitUndefined({
    name: encodeToolName({ name }),
    description,
    ...(parameters && parametersOf(parameters, traits, dropped)),
  })
}
const parametersOf = (schema: Fields, traits: Traits, dropped: DroppedFields): Fields => {
  const root = objectSchema(schema)
  if (traits.takesJsonSchema) return { parametersJsonSchema: root }
  const parameters = convertToOpenApi(root, word => dropped.add(`parameters.${word}`))
  return isEmpty(parameters) ? {} : { parameters }
}
/** The free text becomes the single argument of a function. */
const declareFree = (
  { name, description, grammar }: FreeTool,
  traits: Traits,
  dropped: DroppedFields,
): Fields => {
  if (grammar !== undefined && !(isFields(grammar) && grammar.type === 'text'))
    dropped.add('format')
  const properties = { input: { type: 'string' } }
  const schema = { type: 'object', properties, required: ['input'] }
  return omitUndefined({
    name: encodeToolName({ name, isFreeText: true }),
    description,
    ...parametersOf(schema, traits, dropped),
  })
}

const writeHostedTools = (
  tool: Tool,
  traits: Traits,
  dropped: DroppedFields,
): readonly Fields[] => {
  if (tool.type === 'mcp') throw unsupportedTool(tool)
  if (tool.type === 'foreign') {
    if (tool.origin !== NAME || !isFields(tool.raw)) throw unsupportedTool(tool)
    return [tool.raw]
  }
  return tool.type === 'hosted' ? [writeHosted(tool, traits, dropped)] : []
}
const STORE = /^(?:projects\/.+\/)?fileSearchStores\//
/** Other providers' stores are unknown to Google; a search without stores would find nothing. */
const runsTool = ({ tool, stores = [] }: HostedTool): boolean =>
  HOSTED[tool] !== undefined && stores.every(store => STORE.test(store))
const writeHosted = (hostedTool: HostedTool, traits: Traits, dropped: DroppedFields): Fields => {
  const { tool, clientName, domains, stores = [] } = hostedTool
  const member = HOSTED[tool]
  if (!member || !runsTool(hostedTool)) throw fault('TOOL_UNSUPPORTED', [clientName])
  dropCache(hostedTool.cache, dropped)
  if (domains?.allowed) dropped.add(`${clientName}.allowed_domains`)
  if (hostedTool.location !== undefined) dropped.add(`${clientName}.user_location`)
  if (hostedTool.depth !== undefined) dropped.add(`${clientName}.search_context_size`)
  if (hostedTool.maxCalls !== undefined) dropped.add(`${clientName}.max_uses`)
  if (tool === 'file_search') return { fileSearch: { fileSearchStoreNames: stores } }
  const excludeDomains = domains?.blocked ?? []
  if (excludeDomains.length === 0) return { [member]: {} }
  if (tool === 'web_search' && traits.isVertex) return { [member]: { excludeDomains } }
  dropped.add(`${clientName}.blocked_domains`)
  return { [member]: {} }
}
