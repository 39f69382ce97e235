/** Converts hosted tool calls to and from their items. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, HostedCall, HostedToolName } from '../content.ts'
import {
  type Fields,
  isFields,
  lenientObjects,
  lenientText,
  omitUndefined,
  parseJson,
} from '../fields.ts'
import { NAME } from './name.ts'

/** Decodes the parts that other formats can express; the item itself is kept for its own
 *  provider. */
export const hostedCallOf = (item: Fields): HostedCall => {
  const { tool, read } = DECODERS[lenientText(item, 'type') ?? ''] ?? {
    tool: 'other',
    read: () => ({}),
  }
  const hasFailed = lenientText(item, 'status') === 'failed'
  return {
    type: 'hostedCall',
    tool,
    id: lenientText(item, 'id') ?? '',
    input: null,
    ...read(item),
    ...(hasFailed && { error: lenientText(item, 'error') ?? 'failed' }),
    raw: { origin: NAME, items: [item] },
  }
}
type Read = (item: Fields) => Partial<HostedCall>

const readSearch: Read = item => {
  // One compatible upstream sends its searches in the shape of function calls.
  const callArguments = parseJson(lenientText(item, 'arguments') ?? '')
  const action = isFields(item.action) ? item.action : isFields(callArguments) ? callArguments : {}
  const sources: Citation[] = []
  for (const { url } of lenientObjects(action, 'sources'))
    if (typeof url === 'string') sources.push({ url })
  const { sources: _, type: __, ...input } = action
  return { input, ...(sources.length > 0 && { sources }) }
}
const readCode: Read = item => {
  const callArguments = parseJson(lenientText(item, 'arguments') ?? '')
  const text =
    lenientText(item, 'code') ??
    lenientText(isFields(callArguments) ? callArguments : {}, 'code') ??
    ''
  const logs = lenientObjects(item, 'outputs').map(output => lenientText(output, 'logs') ?? '')
  return { input: { code: text }, ...(Array.isArray(item.outputs) && { output: logs.join('') }) }
}
const readFiles: Read = item => {
  const results = lenientObjects(item, 'results').map(result => {
    const file = lenientText(result, 'file_id')
    const title = lenientText(result, 'filename')
    const quote = lenientText(result, 'text')
    return { ...(file && { file }), ...(title && { title }), ...(quote && { quote }) }
  })
  return { input: { queries: item.queries ?? [] }, ...(results.length > 0 && { sources: results }) }
}
const DECODERS: Readonly<Record<string, { readonly tool: HostedToolName; readonly read: Read }>> = {
  web_search_call: { tool: 'web_search', read: readSearch },
  code_interpreter_call: { tool: 'code_execution', read: readCode },
  file_search_call: { tool: 'file_search', read: readFiles },
}

/** Encodes a call as an item; undefined if this format has no item for it. `id`: the base of the
 *  item's id if it has none. */
export const itemOf = (call: HostedCall, id: string, status: string): Fields | undefined => {
  const ownFields = ownItem(call)
  if (ownFields) return ownFields
  const write = ENCODERS[call.tool]
  if (!write) return undefined
  const { type, prefix, ...members } = write(call)
  return { id: `${prefix}_${id}`, type, status: call.error ? 'failed' : status, ...members }
}
/** The item as this format's provider sent it. */
export const ownItem = ({ raw }: HostedCall): Fields | undefined => {
  const [item] = raw?.origin === NAME ? raw.items : []
  return isFields(item) ? item : undefined
}
type NewItem = { readonly type: string; readonly prefix: string } & Fields

const searchItem = ({ input, sources: pages }: HostedCall): NewItem => {
  const { query, url, pattern } = isFields(input) ? input : { query: input }
  const sources = pages?.flatMap(page => (page.url ? [{ type: 'url', url: page.url }] : []))
  const action = omitUndefined({
    type: url === undefined ? 'search' : pattern === undefined ? 'open_page' : 'find_in_page',
    ...(url === undefined && { query: typeof query === 'string' ? query : '' }),
    url,
    pattern,
    sources,
  })
  return { type: 'web_search_call', prefix: 'ws', action }
}
const codeItem = ({ input, output, id }: HostedCall): NewItem => ({
  type: 'code_interpreter_call',
  prefix: 'ci',
  code: lenientText(isFields(input) ? input : { code: input }, 'code') ?? '',
  container_id: `cntr_${id}`,
  outputs: output === undefined ? null : [{ type: 'logs', logs: logsOf(output) }],
})
const logsOf = (output: Json): string => {
  if (typeof output === 'string') return output
  if (!isFields(output)) return JSON.stringify(output)
  const { stdout, stderr, output: text } = output
  const outputs = [stdout ?? text, stderr].filter(word => typeof word === 'string' && word !== '')
  return outputs.length > 0 ? outputs.join('\n') : JSON.stringify(output)
}
const fileSearchItem = ({ input, sources }: HostedCall): NewItem => {
  const { queries, query } = isFields(input) ? input : { query: input }
  return {
    type: 'file_search_call',
    prefix: 'fs',
    queries: Array.isArray(queries) ? queries : [typeof query === 'string' ? query : ''],
    results:
      sources?.map(({ file = '', title = '', quote = '' }) => ({
        file_id: file,
        filename: title,
        text: quote,
      })) ?? null,
  }
}
const ENCODERS: Readonly<Record<string, (call: HostedCall) => NewItem>> = {
  web_search: searchItem,
  web_fetch: searchItem,
  url_context: searchItem,
  code_execution: codeItem,
  file_search: fileSearchItem,
}
