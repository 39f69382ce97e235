/** Decodes tools and tool choice of a client's request. */
import type { Json } from '../../../engine/plugin.ts'
import type { Loss } from '../codec.ts'
import type { HostedName } from '../content.ts'
import { entryOf, isFields } from '../fields.ts'
import type { FunctionTool, HostedTool, Tool, ToolChoice } from '../hub.ts'
import { bad, type Given } from './given.ts'
import { NAME } from './name.ts'
import { jsonSchema } from './open-api.ts'

/** Member of a tool -> hosted tool. */
const HOSTED: Readonly<Record<string, HostedName>> = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  enterpriseWebSearch: 'web_search',
  urlContext: 'url_context',
  codeExecution: 'code_execution',
  fileSearch: 'file_search',
}

export const readTools = (body: Given, dropped: Loss): readonly Tool[] => {
  const isStrict = modeOf(body) === 'VALIDATED'
  return body.objects('tools').flatMap(tool => readTool(tool, isStrict, dropped))
}
const readTool = (object: Given, isStrict: boolean, dropped: Loss): readonly Tool[] => {
  const tools: Tool[] = object
    .objects('functionDeclarations')
    .map(each => readFunction(each, isStrict, dropped))
  for (const [member, tool] of Object.entries(HOSTED))
    if (object.has(member)) tools.push(readHosted(object, member, tool, dropped))
  for (const key in object.fields) {
    const raw = object.fields[key]
    if (isFields(raw) && !isKnown(key)) tools.push(foreignTool(key, raw, object))
  }
  object.rest(dropped)
  return tools
}
const isKnown = (key: string): boolean => {
  const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return camel === 'functionDeclarations' || Object.hasOwn(HOSTED, camel)
}
const foreignTool = (key: string, raw: Json, object: Given): Tool => {
  object.raw(key)
  return { type: 'foreign', origin: NAME, name: key, raw: { [key]: raw } }
}

const readFunction = (object: Given, isStrict: boolean, dropped: Loss): FunctionTool => {
  const name = object.need('name')
  const description = object.text('description')
  const openApiSchema = object.object('parameters')?.fields
  const schema =
    object.object('parametersJsonSchema')?.fields ?? (openApiSchema && jsonSchema(openApiSchema))
  object.rest(dropped)
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(isStrict && { strict: true }),
  }
}
const readHosted = (object: Given, member: string, tool: HostedName, dropped: Loss): HostedTool => {
  const options = object.object(member) as Given
  const blocked = member === 'googleSearch' ? options.texts('excludeDomains') : []
  const stores = member === 'fileSearch' ? options.texts('fileSearchStoreNames') : []
  options.rest(dropped)
  return {
    type: 'hosted',
    tool,
    clientName: member,
    ...(blocked.length > 0 && { domains: { blocked } }),
    ...(stores.length > 0 && { stores }),
  }
}

const callingOf = (body: Given): Given | undefined =>
  body.object('toolConfig')?.object('functionCallingConfig')
const modeOf = (body: Given): string | undefined => callingOf(body)?.text('mode')?.toUpperCase()

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

export const readChoice = (body: Given, dropped: Loss): ToolChoice | undefined => {
  const config = body.object('toolConfig')
  const calling = config?.object('functionCallingConfig')
  config?.rest(dropped, 'includeServerSideToolInvocations', 'include_server_side_tool_invocations')
  if (!calling) return undefined
  const names = calling.texts('allowedFunctionNames')
  const mode = calling.text('mode')
  calling.rest(dropped)
  const choose = entryOf(MODES, (mode || 'AUTO').toUpperCase())
  if (!choose) throw bad(calling.place('mode'), 'expected AUTO, ANY, NONE or VALIDATED')
  return choose(names)
}
