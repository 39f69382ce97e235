/** Leaves out hosted tools that a request only offers and its target cannot run, and reports them.
 *  A tool that the request forces is a fault. Pure. */
import { fault } from '../faults.ts'
import type { DroppedFields, TargetFacts, ToolSupport } from './codec.ts'
import { isRunByProvider, type Prompt, type Tool, type ToolChoice } from './prompt.ts'

type Support = Pick<ToolSupport, 'format' | 'runs' | 'mixesTools'>

export const withoutUnsupportedTools = (
  prompt: Prompt,
  support: Support,
  target: TargetFacts,
  dropped: DroppedFields,
): Prompt => {
  const runnable = prompt.tools.filter(tool => canSend(tool, support))
  const isMixed =
    prompt.choice?.type !== 'none' &&
    support.mixesTools?.(target) === false &&
    runnable.some(isRunByProvider) &&
    runnable.some(tool => !isRunByProvider(tool) && isOffered(tool, prompt.choice))
  const tools = isMixed ? runnable.filter(tool => !mayBeLeftOut(tool)) : runnable
  if (tools.length === prompt.tools.length) return prompt
  const removed = prompt.tools.filter(tool => !tools.includes(tool))
  const forcedTool = removed.find(tool => isForced(tool, tools, prompt.choice))
  if (forcedTool)
    throw fault(isMixed ? 'TOOLS_MIXED' : 'TOOL_UNSUPPORTED', [clientNameOf(forcedTool)])
  for (const tool of removed) if (mayBeLeftOut(tool)) dropped.add(tool.at)
  const { choice, ...rest } = prompt
  const remainingChoice = choice && withoutNames(choice, removed, tools)
  return { ...rest, tools, ...(remainingChoice && { choice: remainingChoice }) }
}

type Optional = Extract<Tool, { readonly at?: string }> & { readonly at: string }
/** Tools without a path may not be left out: the encoder refuses them. */
const mayBeLeftOut = (tool: Tool): tool is Optional => 'at' in tool && tool.at !== undefined
const canSend = (tool: Tool, { format, runs }: Support): boolean => {
  if (!mayBeLeftOut(tool)) return true
  return tool.type === 'hosted' ? runs(tool) : tool.origin === format
}
const isOffered = (tool: Tool, choice: ToolChoice | undefined): boolean =>
  choice?.type !== 'some' || choice.names.some(name => namesOf(tool).includes(name))

/** The names by which a choice may select the tool. */
export const namesOf = (tool: Tool): readonly string[] =>
  tool.type === 'hosted' ? [tool.tool, tool.clientName] : [tool.name]
export const clientNameOf = (tool: Tool): string =>
  tool.type === 'hosted' ? tool.clientName : tool.name

/** Whether the choice can only be satisfied by this tool. */
const isForced = (tool: Tool, others: readonly Tool[], choice: ToolChoice | undefined): boolean => {
  const allows = (name: string): boolean => others.some(each => namesOf(each).includes(name))
  if (choice?.type === 'required') return others.length === 0
  if (choice?.type === 'tool') return namesOf(tool).includes(choice.name) && !allows(choice.name)
  return choice?.type === 'some' && choice.mode === 'required' && !choice.names.some(allows)
}
/** A choice among tools that were all left out allows no tool. */
const withoutNames = (
  choice: ToolChoice,
  removed: readonly Tool[],
  remaining: readonly Tool[],
): ToolChoice => {
  if (choice.type !== 'some') return choice
  const isNamed = (tools: readonly Tool[], name: string): boolean =>
    tools.some(tool => namesOf(tool).includes(name))
  const names = choice.names.filter(name => isNamed(remaining, name) || !isNamed(removed, name))
  return names.length > 0 ? { ...choice, names } : { type: 'none' }
}
