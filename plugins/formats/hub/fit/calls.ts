/** Refuses conversations with tools that no provider takes: a result without its call, a call
 *  without its result, two tools of one name, the choice of a tool that is not offered. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { fault } from '../../faults.ts'
import type { DroppedFields } from '../codec.ts'
import { namesOf } from '../offered-tools.ts'
import type { Prompt, Tool } from '../prompt.ts'
import { joinNames } from '../tool-names.ts'

/** Each result comes after its call, as `pairResults` puts them. `isContinued`: the target knows
 *  the calls of an earlier answer, which are not in the request. */
export const checkCalls = ({ turns }: Pick<Prompt, 'turns'>, isContinued: boolean): void => {
  const open = new Set<string>()
  const closed = new Set<string>()
  for (const { content } of turns)
    for (const each of content) {
      if (each.type === 'call') open.add(each.id)
      if (each.type !== 'result') continue
      const isKnown = open.delete(each.id) || closed.has(each.id) || isContinued
      if (!isKnown) throw fault('CALL_UNKNOWN', [each.id])
      closed.add(each.id)
    }
  for (const id of open) throw fault('CALL_OPEN', [id])
}

/** The tools, each once. Throws a fault for different tools of one name. */
export const withoutRepeatedTools = (prompt: Prompt, dropped: DroppedFields): Prompt => {
  const tools = new Map<string, Tool>()
  for (const tool of prompt.tools) {
    const key = keyOf(tool)
    const earlier = tools.get(key)
    if (!earlier) tools.set(key, tool)
    else if (tool.type === 'hosted') dropped.add(tool.at ?? tool.clientName)
    else if (!isDeepStrictEqual(earlier, tool))
      throw fault('MEMBER_VALUE', ['tools', `two tools are named '${tool.name}'`], {
        param: 'tools',
      })
  }
  return tools.size === prompt.tools.length ? prompt : { ...prompt, tools: [...tools.values()] }
}
/** Equal for tools of which a request takes one. */
const keyOf = (tool: Tool): string => {
  if (tool.type === 'hosted') return `hosted ${tool.tool}`
  if (tool.type === 'mcp') return `mcp ${tool.name}`
  const namespace = 'namespace' in tool ? tool.namespace?.name : undefined
  return `own ${JSON.stringify([tool.name, namespace])}`
}
const fullNameOf = (tool: Exclude<Tool, { readonly type: 'hosted' }>): string =>
  'namespace' in tool && tool.namespace
    ? joinNames({ name: tool.name, namespace: tool.namespace.name })
    : tool.name

/** Throws a fault if the choice names a tool that is not offered. `param`: the client's name of the
 *  choice. */
export const checkChoice = ({ choice, tools }: Prompt, param: string): void => {
  const names =
    choice?.type === 'tool' ? [choice.name] : choice?.type === 'some' ? choice.names : []
  const known = new Set(
    tools.flatMap(tool => (tool.type === 'hosted' ? namesOf(tool) : [tool.name, fullNameOf(tool)])),
  )
  const unknown = names.find(name => !known.has(name))
  if (unknown !== undefined)
    throw fault('MEMBER_VALUE', [param, `'${unknown}' is not a tool of the request`], { param })
}
