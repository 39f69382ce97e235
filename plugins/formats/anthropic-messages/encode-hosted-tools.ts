/** Encodes another provider's hosted call in the blocks of this format's own tools. */
import type { Fields } from '../fields.ts'
import { isFields } from '../fields.ts'
import type { Citation, HostedCall } from '../hub/content.ts'
import { isShellProgram, outputText, programOf } from '../hub/hosted-call-text.ts'
import { encodePayload } from '../hub/opaque-payload.ts'
import { NAME } from './members.ts'

interface ToolBlocks {
  readonly name: string
  /** The name of the input member. */
  readonly key: string
  result?(call: HostedCall): Fields
}

/** Called by the model itself, not by a program that the model wrote. */
const DIRECT_CALLER: Fields = Object.freeze({ type: 'direct' })
const writeSearchResult = ({ sources = [], error }: HostedCall): Fields => ({
  type: 'web_search_tool_result',
  caller: DIRECT_CALLER,
  content:
    error === undefined
      ? sources.map(pageOf)
      : { type: 'web_search_tool_result_error', error_code: 'unavailable' },
})
const pageOf = ({ url = '', title, payload }: Citation): Fields => ({
  type: 'web_search_result',
  url,
  title: title ?? url,
  encrypted_content: payload ? encodePayload(NAME, payload) : '',
  page_age: null,
})
const writeFetchResult = (call: HostedCall): Fields => {
  const { sources = [], error } = call
  const [page] = sources
  const document = {
    type: 'document',
    title: page?.title ?? null,
    citations: null,
    source: { type: 'text', media_type: 'text/plain', data: outputText(call.output ?? '') },
  }
  return {
    type: 'web_fetch_tool_result',
    caller: DIRECT_CALLER,
    content:
      error === undefined
        ? { type: 'web_fetch_result', url: page?.url ?? '', content: document }
        : { type: 'web_fetch_tool_result_error', error_code: 'unavailable' },
  }
}
const writeCodeResult = (call: HostedCall): Fields => ({
  type: `${blocksOf(call).name}_tool_result`,
  content: {
    type: `${blocksOf(call).name}_result`,
    stdout: outputText(call.output ?? ''),
    stderr: call.error ?? '',
    return_code: call.error === undefined ? 0 : 1,
    content: [],
  },
})

const mcpResult = (call: HostedCall): Fields => ({
  type: 'mcp_tool_result',
  is_error: call.error !== undefined,
  content: [{ type: 'text', text: call.error ?? outputText(call.output ?? '') }],
})

const BLOCKS_BY_TOOL: Readonly<Record<HostedCall['tool'], ToolBlocks>> = {
  web_search: { name: 'web_search', key: 'query', result: writeSearchResult },
  web_fetch: { name: 'web_fetch', key: 'url', result: writeFetchResult },
  url_context: { name: 'web_fetch', key: 'url', result: writeFetchResult },
  code_execution: { name: 'code_execution', key: 'code', result: writeCodeResult },
  file_search: { name: 'file_search', key: 'query' },
  image_generation: { name: 'image_generation', key: 'prompt' },
  other: { name: 'other', key: 'input' },
}
const SHELL_BLOCKS: ToolBlocks = {
  name: 'bash_code_execution',
  key: 'command',
  result: writeCodeResult,
}
const blocksOf = (call: HostedCall): ToolBlocks =>
  isShellProgram(call) ? SHELL_BLOCKS : BLOCKS_BY_TOOL[call.tool]

/** Whether the use block may be written: a program's name depends on its language. */
export const isNamed = (call: HostedCall): boolean =>
  call.tool !== 'code_execution' || programOf(call).code !== ''
/** The use block, without its input. */
export const useStart = (call: HostedCall): Fields => {
  const { mcp } = call
  const id = useId(call)
  return mcp
    ? { type: 'mcp_tool_use', id, name: mcp.tool, server_name: mcp.server, input: {} }
    : {
        type: 'server_tool_use',
        id,
        name: blocksOf(call).name,
        input: {},
        caller: DIRECT_CALLER,
      }
}
export const useInput = (call: HostedCall): Fields => {
  const { input } = call
  if (input === null || input === undefined) return {}
  const { key } = blocksOf(call)
  if (isShellProgram(call)) return { [key]: programOf(call).code }
  return isFields(input) ? input : { [key]: input }
}
/** Undefined if this format has no result block for the tool. */
export const resultBlock = (call: HostedCall): Fields | undefined => {
  const result = call.mcp ? mcpResult(call) : blocksOf(call).result?.(call)
  return result && { ...result, tool_use_id: useId(call) }
}
export const hostedCallBlocks = (call: HostedCall): readonly Fields[] => {
  const result = resultBlock(call)
  const use = { ...useStart(call), input: useInput(call) }
  return result ? [use, result] : [use]
}
/** The id of the use block. */
export const useId = ({ id, mcp }: Pick<HostedCall, 'id' | 'mcp'>): string => {
  const prefix = mcp ? 'mcptoolu_' : 'srvtoolu_'
  return id.startsWith(prefix) ? id : prefix + id.replace(/[^A-Za-z0-9_-]/g, '')
}
