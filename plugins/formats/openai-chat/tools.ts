/** Tools and tool choice of a chat request. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  flagIn,
  isFields,
  lenientObject,
  listIn,
  lookUp,
  omitNull,
  omitUndefined,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { readCacheHint } from '../hub/cache-hint.ts'
import type { DroppedFields, ToolSupport } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type { FreeTool, FunctionTool, HostedTool, Prompt, Tool, ToolChoice } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { strictly } from '../openai-strict.ts'
import type { Writing } from './content.ts'

/** Names by which clients of this format request hosted tools. */
const PRESETS: Readonly<Record<string, HostedToolName>> = {
  gx_search: 'web_search',
  google_search: 'web_search',
  googleSearch: 'web_search',
  web_search: 'web_search',
  web_search_preview: 'web_search',
  code_execution: 'code_execution',
  codeExecution: 'code_execution',
  code_interpreter: 'code_execution',
  url_context: 'url_context',
  urlContext: 'url_context',
}

/** A preset is a name of `PRESETS` without parameters. With parameters it is the client's own
 *  function of that name. */
export const presetNameOf = (tool: Json): string | undefined => {
  if (!isFields(tool)) return undefined
  if (tool.type !== 'function')
    return typeof tool.type === 'string' && lookUp(PRESETS, tool.type) ? tool.type : undefined
  const { name, parameters } = lenientObject(tool, 'function')
  if (typeof name !== 'string' || !lookUp(PRESETS, name)) return undefined
  const hasNoParameters =
    !isFields(parameters) || Object.keys(lenientObject(parameters, 'properties')).length === 0
  return hasNoParameters ? name : undefined
}

export const readTools = (body: Fields): readonly Tool[] => {
  const tools = (listIn(body, 'tools') ?? []).map((tool, index) =>
    readTool(tool, `tools[${index}]`),
  )
  const functions = (listIn(body, 'functions') ?? []).map((each, index) =>
    readFunction(requireObject(each, `functions[${index}]`), `functions[${index}]`),
  )
  const search = fieldsIn(body, 'web_search_options')
  return [...tools, ...functions, ...(search ? [readSearch(search)] : [])]
}
const readTool = (value: Json, at: string): Tool => {
  const tool = requireObject(value, at)
  const preset = presetNameOf(tool)
  if (preset !== undefined)
    return {
      type: 'hosted',
      tool: PRESETS[preset] as HostedToolName,
      clientName: preset,
      at: `${at}.${preset}`,
    }
  if (tool.type === 'custom') {
    const custom = requireMember(fieldsIn(tool, 'custom', `${at}.custom`), `${at}.custom`)
    const description = textIn(custom, 'description', `${at}.custom.description`)
    return {
      type: 'free',
      name: requireMember(textIn(custom, 'name', `${at}.custom.name`), `${at}.custom.name`),
      ...(description !== undefined && { description }),
      ...(isFields(custom.format) && { grammar: readGrammar(custom.format) }),
      ...readCacheHint(tool, at),
    }
  }
  if (tool.type !== 'function')
    throw fault('MEMBER_VALUE', [`${at}.type`, "expected 'function' or 'custom'"], {
      param: `${at}.type`,
    })
  const path = `${at}.function`
  const declaration = requireMember(fieldsIn(tool, 'function', path), path)
  return {
    ...readFunction(declaration, path),
    ...readCacheHint(declaration, path),
    ...readCacheHint(tool, at),
  }
}
/** The hub has a grammar without the object that this format puts around it. */
const readGrammar = ({ type = 'grammar', grammar, ...rest }: Fields): Fields => ({
  type,
  ...rest,
  ...(isFields(grammar) && grammar),
})
const writeGrammar = ({ type = 'text', ...grammar }: Fields): Fields =>
  type === 'grammar' ? { type, grammar } : { type, ...grammar }
const readFunction = (declaration: Fields, at: string): Tool => {
  const description = textIn(declaration, 'description', `${at}.description`)
  const strict = flagIn(declaration, 'strict', `${at}.strict`)
  const schema = fieldsIn(declaration, 'parameters', `${at}.parameters`)
  return {
    type: 'function',
    name: requireMember(textIn(declaration, 'name', `${at}.name`), `${at}.name`),
    ...(description !== undefined && { description }),
    ...(schema && { schema }),
    ...(strict !== undefined && { strict }),
  }
}
const SEARCH_OPTIONS = 'web_search_options'
const readSearch = (options: Fields): Tool => {
  const depth = textIn(options, 'search_context_size', 'web_search_options.search_context_size')
  const location = omitNull(lenientObject(lenientObject(options, 'user_location'), 'approximate'))
  return {
    type: 'hosted',
    tool: 'web_search',
    clientName: SEARCH_OPTIONS,
    at: SEARCH_OPTIONS,
    ...(depth !== undefined && { depth }),
    ...(Object.keys(location).length > 0 && { location }),
  }
}

export const readChoice = ({
  tool_choice: choice,
  function_call: functionCall,
}: Fields): ToolChoice | undefined => {
  const value = choice ?? functionCall
  if (value === undefined || value === null) return undefined
  if (value === 'auto' || value === 'none' || value === 'required') return { type: value }
  if (!isFields(value))
    throw fault(
      'MEMBER_VALUE',
      ['tool_choice', "expected 'auto', 'none', 'required' or an object"],
      {
        param: 'tool_choice',
      },
    )
  if (value.type === 'allowed_tools') return readAllowedTools(lenientObject(value, 'allowed_tools'))
  const candidates = [value, lenientObject(value, 'function'), lenientObject(value, 'custom')]
  const name = candidates.map(each => each.name).find(each => typeof each === 'string')
  return {
    type: 'tool',
    name: requireMember(name as string | undefined, 'tool_choice.function.name'),
  }
}
const readAllowedTools = (allowed: Fields): ToolChoice => ({
  type: 'some',
  mode: allowed.mode === 'required' ? 'required' : 'auto',
  names: (listIn(allowed, 'tools', 'tool_choice.allowed_tools.tools') ?? []).flatMap(tool => {
    const name = isFields(tool)
      ? (lenientObject(tool, 'function').name ?? lenientObject(tool, 'custom').name)
      : undefined
    return typeof name === 'string' ? [name] : []
  }),
})

// ---------------------------------------------------------------- towards an upstream

export const toolSupport: ToolSupport = {
  format: 'openai-chat',
  names: { invalid: /[^A-Za-z0-9_-]/g, maxLength: 64 },
  runs: tool => runsTool(tool),
  takesFreeText: ({ traits }) => traits.custom_tools !== false,
}

/** Fields of the body; web search is an option. */
export const writeTools = ({ tools, choice }: Prompt, { dropped, hint }: Writing): Fields => {
  const declarations: Fields[] = []
  let search: Fields | undefined
  for (const tool of tools) {
    if (tool.type === 'function')
      declarations.push({ ...writeFunction(tool, dropped), ...hint(tool.cache) })
    else if (tool.type === 'free') {
      const { name, description, grammar } = tool
      declarations.push({
        type: 'custom',
        custom: omitUndefined({
          name,
          description,
          format: isFields(grammar) ? writeGrammar(grammar) : undefined,
        }),
        ...hint(tool.cache),
      })
    } else if (tool.type === 'hosted' && runsTool(tool))
      search = omitUndefined({
        search_context_size: tool.depth,
        ...(tool.location !== undefined && {
          user_location: { type: 'approximate', approximate: tool.location },
        }),
      })
    else throw unsupportedTool(tool)
  }
  return omitUndefined({
    ...(declarations.length > 0 && { tools: declarations }),
    tool_choice: choice && writeChoice(choice, tools, dropped),
    web_search_options: search,
  })
}
/** The only hosted tool of this format is web search. */
const runsTool = ({ tool, clientName }: HostedTool): boolean =>
  tool === 'web_search' && clientName === SEARCH_OPTIONS
const writeFunction = (
  tool: Extract<Tool, { readonly type: 'function' }>,
  dropped: DroppedFields,
): Fields => {
  const { name, description, schema } = tool
  const { schema: parameters, strict } = strictly(
    schema === undefined ? undefined : objectSchema(schema),
    tool.strict,
    'strict',
    dropped,
  )
  return { type: 'function', function: omitUndefined({ name, description, parameters, strict }) }
}
/** The choice covers the client's own tools only; web search is always left to the model. */
const writeChoice = (
  choice: ToolChoice,
  tools: readonly Tool[],
  dropped: DroppedFields,
): Json | undefined => {
  const ownTools = tools.filter(tool => tool.type === 'function' || tool.type === 'free')
  const names = choice.type === 'tool' ? [choice.name] : choice.type === 'some' ? choice.names : []
  const choices = ownTools.filter(({ name }) => names.includes(name)).map(choiceOf)
  const isReduced =
    choices.length < names.length || (ownTools.length === 0 && choice.type === 'required')
  if (isReduced && tools.length > 0) dropped.add('tool_choice')
  const [only] = choices
  if (choice.type === 'tool') return only
  if (choice.type === 'some')
    return only && { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choices } }
  return ownTools.length > 0 ? choice.type : undefined
}
const choiceOf = ({ type, name }: FunctionTool | FreeTool): Fields =>
  type === 'free' ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
