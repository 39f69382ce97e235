/** The fault for a tool that a target cannot use, by the client's name for it. */
import type { Fault } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import type { Tool } from './prompt.ts'

export const unsupportedTool = (tool: Tool): Fault => {
  const name = tool.type === 'hosted' ? tool.clientName : tool.name
  return tool.type === 'foreign' && tool.reason !== undefined
    ? fault('TOOL_LIMITED', [name, tool.reason])
    : fault('TOOL_UNSUPPORTED', [name])
}
