/** Encodes tools and the tool choice. A choice of some tools offers only these. */
import { subsetOf } from '../closed-schema.ts'
import { fault } from '../faults.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { DroppedFields, TargetFacts, ToolSupport } from '../hub/codec.ts'
import { isForced } from '../hub/conversation-rules.ts'
import type { FreeTool, FunctionTool, Prompt, Tool, ToolChoice } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { writeCachePoint } from './cache.ts'
import { encodeToolName, NAME, NAME_RULE } from './name.ts'

export const toolSupport: ToolSupport = { format: NAME, names: NAME_RULE, runs: () => false }

type ClientTool = FunctionTool | FreeTool

/** Undefined if the request needs no tools. */
export const writeToolConfig = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): Fields | undefined => {
  const { choice } = prompt
  const tools = offeredTools(prompt)
  const hasEarlierCalls = namesOfCalls(prompt).length > 0
  if (tools.length === 0 || (choice?.type === 'none' && !hasEarlierCalls)) {
    if (choice?.type === 'tool' || choice?.type === 'required') dropped.add('choice')
    return earlierTools(prompt)
  }
  // The format has no choice that forbids calls.
  if (choice?.type === 'none') dropped.add('choice')
  return omitUndefined({
    tools: tools.flatMap(tool => [
      writeTool(tool, target, dropped),
      ...(tool.type === 'function' ? writeCachePoint(tool.cache, target, dropped) : []),
    ]),
    toolChoice: choice && writeChoice(choice, tools),
  })
}

const isClientTool = (tool: Tool): tool is ClientTool =>
  tool.type === 'function' || tool.type === 'free'
const offeredTools = ({ tools, choice }: Prompt): readonly ClientTool[] => {
  const clientTools = tools.map(tool => {
    if (!isClientTool(tool)) throw unsupportedTool(tool)
    return tool
  })
  if (choice?.type !== 'some') return clientTools
  return clientTools.filter(({ name }) => choice.names.includes(name))
}

/** Declares the tools of earlier calls, which the provider requires even if none is offered. */
const earlierTools = (prompt: Prompt): Fields | undefined => {
  const names = namesOfCalls(prompt)
  if (names.length === 0) return undefined
  return { tools: names.map(name => toolOf({ name, inputSchema: { json: { type: 'object' } } })) }
}
const namesOfCalls = ({ turns }: Prompt): readonly string[] => [
  ...new Set(
    turns.flatMap(({ content }) =>
      content.flatMap(each => (each.type === 'call' ? [encodeToolName(each)] : [])),
    ),
  ),
]

const writeChoice = (choice: ToolChoice, tools: readonly ClientTool[]): Fields | undefined => {
  if (choice.type === 'none') return undefined
  if (!isForced(choice)) return { auto: {} }
  if (choice.type !== 'tool') return { any: {} }
  const tool = tools.find(({ name }) => name === choice.name)
  if (!tool) throw fault('TOOL_UNSUPPORTED', [choice.name])
  return { tool: { name: wireName(tool) } }
}
const wireName = ({ name, type }: ClientTool): string =>
  encodeToolName({ name, isFreeText: type === 'free' })

const toolOf = (specification: Fields): Fields => ({ toolSpec: specification })
const writeTool = (tool: ClientTool, target: TargetFacts, dropped: DroppedFields): Fields =>
  tool.type === 'free' ? writeFree(tool) : writeFunction(tool, target, dropped)
const writeFunction = (
  { name, description, schema, strict }: FunctionTool,
  { traits }: TargetFacts,
  dropped: DroppedFields,
): Fields => {
  const json = objectSchema(schema)
  const subset = strict && traits.structured !== false ? subsetOf(json) : undefined
  if (strict && !subset?.isEqual) dropped.add('strict')
  return toolOf(
    omitUndefined({
      name,
      description: description || undefined,
      inputSchema: { json: subset?.isEqual ? subset.schema : json },
      strict: subset?.isEqual || undefined,
    }),
  )
}
/** A tool with free text input becomes a function with one argument. */
const writeFree = (tool: FreeTool): Fields => {
  const { description, grammar } = tool
  const form = grammar === undefined ? undefined : `Its input follows: ${JSON.stringify(grammar)}`
  const fullDescription = [description, form].filter(Boolean).join('\n\n')
  return toolOf(
    omitUndefined({
      name: wireName(tool),
      description: fullDescription || undefined,
      inputSchema: { json: FREE_INPUT },
    }),
  )
}
const FREE_INPUT: Fields = Object.freeze({
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
})
