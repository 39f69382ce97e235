/** Describes a hosted tool call as text, for providers other than the one that ran it and for
 *  clients whose format has no member for it. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { isFields, lenientText } from '../fields.ts'
import type { DroppedFields } from './codec.ts'
import type { HostedCall, Text } from './content.ts'

/** Returns undefined and reports the call as dropped if it holds only opaque data of its
 *  provider. Throws for a command. */
export const describeHostedCall = (call: HostedCall, dropped: DroppedFields): Text | undefined => {
  const { tool, output, sources } = call
  const name = providerName(call)
  if (COMMANDS.has(name))
    throw fault('CONTENT_UNSUPPORTED', [name, 'A command to the provider'], { param: name })
  if (tool !== 'other' || output !== undefined || sources !== undefined) return describe(call)
  if (call.at !== undefined)
    throw fault('CONTENT_UNSUPPORTED', [call.at, `A part of type ${name}`], { param: call.at })
  dropped.add(name)
  return undefined
}
/** Requests a part of the answer that the client does not get otherwise. */
const COMMANDS: ReadonlySet<string> = new Set(['compaction_trigger'])
/** The provider's name for the call: its type, or the only member of its item. */
const providerName = ({ raw, tool }: HostedCall): string => {
  const [item] = raw?.items ?? []
  if (!isFields(item)) return tool
  return typeof item.type === 'string' ? item.type : (Object.keys(item)[0] ?? tool)
}

const describe = (call: HostedCall): Text => {
  const { tool, mcp, input, output, sources = [], error } = call
  const { language, code } = programOf(call)
  const isShell = isShellProgram(call)
  const ownName = isShell ? `${tool}: ${language}` : tool
  const name = mcp ? `${mcp.server}: ${mcp.tool}` : tool === 'other' ? providerName(call) : ownName
  const lines = [input === null ? `[${name}]` : `[${name}] ${isShell ? code : asText(input)}`]
  for (const { title, url, file, quote } of sources) {
    lines.push(`- ${title ?? url ?? file ?? ''}${title && url ? `: ${url}` : ''}`)
    if (quote) lines.push(quote)
  }
  if (output !== undefined) lines.push(asText(output))
  if (error !== undefined) lines.push(`failed: ${error}`)
  return { type: 'text', text: lines.join('\n') }
}
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** The output of a program: the text of an output of any provider. */
export const outputText = (output: Json): string => {
  if (typeof output === 'string') return output
  if (!isFields(output)) return JSON.stringify(output)
  const { stdout, stderr, output: text } = output
  const texts = [stdout ?? text, stderr].filter(each => typeof each === 'string' && each !== '')
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(output)
}
/** The program of a call of `code_execution`. `language`: '' if the provider does not name it; json
 *  for the input of another tool of the container, such as its text editor. */
export const programOf = ({ input }: HostedCall): { readonly language: string; code: string } => {
  const fields = isFields(input) ? input : { code: input }
  const code = lenientText(fields, 'code')
  const { command, ...others } = fields
  const isCommand = typeof command === 'string' && Object.keys(others).length === 0
  if (code === undefined && isCommand) return { language: 'bash', code: command }
  if (code === undefined && command !== undefined)
    return { language: 'json', code: JSON.stringify(fields) }
  return {
    language: (lenientText(fields, 'language') ?? 'python').toLowerCase(),
    code: code ?? '',
  }
}
const SHELLS: ReadonlySet<string> = new Set(['bash', 'sh', 'shell', 'zsh'])
/** Whether the program is a command of a shell. */
export const isShellProgram = (call: HostedCall): boolean =>
  call.tool === 'code_execution' && SHELLS.has(programOf(call).language)
