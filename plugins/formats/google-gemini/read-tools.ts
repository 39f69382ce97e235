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
  const validated = modeOf(body) === 'VALIDATED'
  return body.objects('tools').flatMap(tool => readTool(tool, validated, dropped))
}
const readTool = (given: Given, validated: boolean, dropped: Loss): readonly Tool[] => {
  const tools: Tool[] = given
    .objects('functionDeclarations')
    .map(each => readFunction(each, validated, dropped))
  for (const [member, tool] of Object.entries(HOSTED))
    if (given.has(member)) tools.push(readHosted(given, member, tool, dropped))
  for (const key in given.fields) {
    const raw = given.fields[key]
    if (isFields(raw) && !isKnown(key)) tools.push(foreign(key, raw, given))
  }
  given.rest(dropped)
  return tools
}
const isKnown = (key: string): boolean => {
  const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return camel === 'functionDeclarations' || Object.hasOwn(HOSTED, camel)
}
const foreign = (key: string, raw: Json, given: Given): Tool => {
  given.raw(key)
  return { type: 'foreign', origin: NAME, name: key, raw: { [key]: raw } }
}

const readFunction = (given: Given, validated: boolean, dropped: Loss): FunctionTool => {
  const name = given.need('name')
  const description = given.text('description')
  const own = given.object('parameters')?.fields
  const schema = given.object('parametersJsonSchema')?.fields ?? (own && jsonSchema(own))
  given.rest(dropped)
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(validated && { strict: true }),
  }
}
const readHosted = (given: Given, member: string, tool: HostedName, dropped: Loss): HostedTool => {
  const options = given.object(member) as Given
  const blocked = member === 'googleSearch' ? options.texts('excludeDomains') : []
  const stores = member === 'fileSearch' ? options.texts('fileSearchStoreNames') : []
  options.rest(dropped)
  return {
    type: 'hosted',
    tool,
    asked: member,
    ...(blocked.length > 0 && { domains: { blocked } }),
    ...(stores.length > 0 && { stores }),
  }
}

const callingOf = (body: Given): Given | undefined =>
  body.object('toolConfig')?.object('functionCallingConfig')
const modeOf = (body: Given): string | undefined => callingOf(body)?.text('mode')?.toUpperCase()

type Chosen = (names: readonly string[]) => ToolChoice | undefined
const some =
  (mode: 'auto' | 'required'): Chosen =>
  names =>
    names.length > 0 ? { type: 'some', mode, names } : { type: mode }
const MODES: Readonly<Record<string, Chosen>> = {
  MODE_UNSPECIFIED: () => undefined,
  AUTO: some('auto'),
  VALIDATED: some('auto'),
  NONE: () => ({ type: 'none' }),
  ANY: names =>
    names.length === 1 ? { type: 'tool', name: names[0] as string } : some('required')(names),
}

export const readChoice = (body: Given, dropped: Loss): ToolChoice | undefined => {
  const config = body.object('toolConfig')
  const calling = config?.object('functionCallingConfig')
  config?.rest(dropped, 'includeServerSideToolInvocations', 'include_server_side_tool_invocations')
  if (!calling) return undefined
  const names = calling.texts('allowedFunctionNames')
  const mode = calling.text('mode')
  calling.rest(dropped)
  const chosen = entryOf(MODES, (mode || 'AUTO').toUpperCase())
  if (!chosen) throw bad(calling.place('mode'), 'expected AUTO, ANY, NONE or VALIDATED')
  return chosen(names)
}
