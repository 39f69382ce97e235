/** Converts hosted tool calls to and from their items. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, HostedName, Work } from '../content.ts'
import { type Fields, isFields, itemsIn, parsed, present, wordIn } from '../fields.ts'
import { NAME } from './name.ts'

/** Decodes the parts that other formats can express; the item itself is kept for its own
 *  provider. */
export const workOf = (item: Fields): Work => {
  const { tool, read } = DECODERS[wordIn(item, 'type') ?? ''] ?? { tool: 'other', read: () => ({}) }
  const hasFailed = wordIn(item, 'status') === 'failed'
  return {
    type: 'hostedCall',
    tool,
    id: wordIn(item, 'id') ?? '',
    input: null,
    ...read(item),
    ...(hasFailed && { error: wordIn(item, 'error') ?? 'failed' }),
    raw: { origin: NAME, items: [item] },
  }
}
type Read = (item: Fields) => Partial<Work>

const search: Read = item => {
  // One compatible upstream sends its searches in the shape of function calls.
  const callArguments = parsed(wordIn(item, 'arguments') ?? '')
  const action = isFields(item.action) ? item.action : isFields(callArguments) ? callArguments : {}
  const sources: Citation[] = []
  for (const { url } of itemsIn(action, 'sources'))
    if (typeof url === 'string') sources.push({ url })
  const { sources: _, type: __, ...input } = action
  return { input, ...(sources.length > 0 && { sources }) }
}
const code: Read = item => {
  const callArguments = parsed(wordIn(item, 'arguments') ?? '')
  const text =
    wordIn(item, 'code') ?? wordIn(isFields(callArguments) ? callArguments : {}, 'code') ?? ''
  const logs = itemsIn(item, 'outputs').map(output => wordIn(output, 'logs') ?? '')
  return { input: { code: text }, ...(Array.isArray(item.outputs) && { output: logs.join('') }) }
}
const files: Read = item => {
  const results = itemsIn(item, 'results').map(result => {
    const file = wordIn(result, 'file_id')
    const title = wordIn(result, 'filename')
    const quote = wordIn(result, 'text')
    return { ...(file && { file }), ...(title && { title }), ...(quote && { quote }) }
  })
  return { input: { queries: item.queries ?? [] }, ...(results.length > 0 && { sources: results }) }
}
const DECODERS: Readonly<Record<string, { readonly tool: HostedName; readonly read: Read }>> = {
  web_search_call: { tool: 'web_search', read: search },
  code_interpreter_call: { tool: 'code_execution', read: code },
  file_search_call: { tool: 'file_search', read: files },
}

/** Encodes a call as an item; undefined if this format has no item for it. `id`: the base of the
 *  item's id if it has none. */
export const itemOf = (work: Work, id: string, status: string): Fields | undefined => {
  const ownFields = ownItem(work)
  if (ownFields) return ownFields
  const write = ENCODERS[work.tool]
  if (!write) return undefined
  const { type, prefix, ...members } = write(work)
  return { id: `${prefix}_${id}`, type, status: work.error ? 'failed' : status, ...members }
}
/** The item as this format's provider sent it. */
export const ownItem = ({ raw }: Work): Fields | undefined => {
  const [item] = raw?.origin === NAME ? raw.items : []
  return isFields(item) ? item : undefined
}
type WrittenItem = { readonly type: string; readonly prefix: string } & Fields

const searchItem = ({ input, sources: pages }: Work): WrittenItem => {
  const { query, url, pattern } = isFields(input) ? input : { query: input }
  const sources = pages?.flatMap(page => (page.url ? [{ type: 'url', url: page.url }] : []))
  const action = present({
    type: url === undefined ? 'search' : pattern === undefined ? 'open_page' : 'find_in_page',
    ...(url === undefined && { query: typeof query === 'string' ? query : '' }),
    url,
    pattern,
    sources,
  })
  return { type: 'web_search_call', prefix: 'ws', action }
}
const codeItem = ({ input, output, id }: Work): WrittenItem => ({
  type: 'code_interpreter_call',
  prefix: 'ci',
  code: wordIn(isFields(input) ? input : { code: input }, 'code') ?? '',
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
const fileSearchItem = ({ input, sources }: Work): WrittenItem => {
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
const ENCODERS: Readonly<Record<string, (work: Work) => WrittenItem>> = {
  web_search: searchItem,
  web_fetch: searchItem,
  url_context: searchItem,
  code_execution: codeItem,
  file_search: fileSearchItem,
}
