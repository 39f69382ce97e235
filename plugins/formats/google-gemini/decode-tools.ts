/** Decodes tools and tool choice of a client's request. */
import type { Json } from '../../../engine/plugin.ts'
import { lookUp } from '../fields.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { HostedToolName } from '../hub/content.ts'
import type { FunctionTool, HostedTool, Tool, ToolChoice } from '../hub/prompt.ts'
import { NAME } from './name.ts'
import { convertToJsonSchema } from './open-api.ts'

/** Member of a tool -> hosted tool. */
const HOSTED: Readonly<Record<string, HostedToolName>> = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  enterpriseWebSearch: 'web_search',
  urlContext: 'url_context',
  codeExecution: 'code_execution',
  fileSearch: 'file_search',
}

export const readTools = (body: RequestObject, dropped: DroppedFields): readonly Tool[] => {
  const isStrict = modeOf(body) === 'VALIDATED'
  return body.objects('tools').flatMap(tool => readTool(tool, isStrict, dropped))
}
const readTool = (
  object: RequestObject,
  isStrict: boolean,
  dropped: DroppedFields,
): readonly Tool[] => {
  const tools: Tool[] = object
    .objects('functionDeclarations')
    .map(each => readFunction(each, isStrict, dropped))
  for (const [member, tool] of Object.entries(HOSTED))
    if (object.has(member)) tools.push(readHosted(object, member, tool, dropped))
  for (const key in object.fields) {
    const raw = object.fields[key]
    if (typeof raw === 'object' && raw !== null && !isKnown(key))
      tools.push(foreignTool(key, raw, object))
  }
  object.reportUnread(dropped)
  return tools
}
const isKnown = (key: string): boolean => {
  const camel = camelCase(key)
  return camel === 'functionDeclarations' || Object.hasOwn(HOSTED, camel)
}
const camelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const foreignTool = (key: string, raw: Json, object: RequestObject): Tool => {
  object.value(key)
  const at = OPTIONAL.has(camelCase(key)) ? object.pathOf(key) : undefined
  return {
    type: 'foreign',
    origin: NAME,
    name: key,
    raw: { [key]: raw },
    ...(at !== undefined && { at }),
  }
}
/** Tools that Google runs and that no other provider has. */
const OPTIONAL: ReadonlySet<string> = new Set(['googleMaps', 'retrieval'])

const readFunction = (
  object: RequestObject,
  isStrict: boolean,
  dropped: DroppedFields,
): FunctionTool => {
  const name = object.requiredText('name')
  const description = object.text('description')
  const openApiSchema = object.object('parameters')?.fields
  const schema =
    object.object('parametersJsonSchema')?.fields ??
    (openApiSchema && convertToJsonSchema(openApiSchema))
  object.reportUnread(dropped)
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(isStrict && { strict: true }),
  }
}
const readHosted = (
  object: RequestObject,
  member: string,
  tool: HostedToolName,
  dropped: DroppedFields,
): HostedTool => {
  const options = object.object(member) as RequestObject
  const blocked = member === 'googleSearch' ? options.texts('excludeDomains') : []
  const stores = member === 'fileSearch' ? options.texts('fileSearchStoreNames') : []
  options.reportUnread(dropped)
  return {
    type: 'hosted',
    tool,
    clientName: member,
    at: object.pathOf(member),
    ...(blocked.length > 0 && { domains: { blocked } }),
    ...(stores.length > 0 && { stores }),
  }
}

const callingConfigOf = (body: RequestObject): RequestObject | undefined =>
  body.object('toolConfig')?.object('functionCallingConfig')
const modeOf = (body: RequestObject): string | undefined =>
  callingConfigOf(body)?.text('mode')?.toUpperCase()

type ChoiceOf = (names: readonly string[]) => ToolChoice | undefined
const choiceAmong =
  (mode: 'auto' | 'required'): ChoiceOf =>
  names =>
    names.length > 0 ? { type: 'some', mode, names } : { type: mode }
const MODES: Readonly<Record<string, ChoiceOf>> = {
  MODE_UNSPECIFIED: () => undefined,
  AUTO: choiceAmong('auto'),
  VALIDATED: choiceAmong('auto'),
  NONE: () => ({ type: 'none' }),
  ANY: names =>
    names.length === 1
      ? { type: 'tool', name: names[0] as string }
      : choiceAmong('required')(names),
}

/** The choice restricts functions only: hosted tools stay available beside them. */
export const readChoice = (
  body: RequestObject,
  tools: readonly Tool[],
  dropped: DroppedFields,
): ToolChoice | undefined => {
  const config = body.object('toolConfig')
  const calling = config?.object('functionCallingConfig')
  config?.reportUnread(
    dropped,
    'includeServerSideToolInvocations',
    'include_server_side_tool_invocations',
  )
  if (!calling) return undefined
  const names = calling.texts('allowedFunctionNames')
  const mode = calling.text('mode')
  calling.reportUnread(dropped)
  const choose = lookUp(MODES, (mode || 'AUTO').toUpperCase())
  if (!choose) throw valueFault(calling.pathOf('mode'), 'expected AUTO, ANY, NONE or VALIDATED')
  const choice = choose(names)
  if (choice?.type !== 'some' || choice.mode === 'required') return choice
  return { ...choice, names: [...names, ...tools.flatMap(hostedName)] }
}
const hostedName = (tool: Tool): readonly string[] => {
  if (tool.type === 'hosted') return [tool.tool]
  return tool.type === 'foreign' ? [tool.name] : []
}
