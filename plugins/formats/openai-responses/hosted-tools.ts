/** Hosted tools: converts their calls between the hub and the items of this format, and counts
 *  those of a response by the upstream's own number of searches if it is there. */
import type { Json } from '../../../engine/plugin.ts'
import type { Attributes, Meter, Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  omitUndefined,
  parseJson,
} from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'
import { IMAGE_TOOL_ATTRIBUTES, meterOfCall, metersOfCalls } from '../hosted-tools.ts'
import type { Citation, HostedCall } from '../hub/content.ts'
import { outputText, programOf } from '../hub/hosted-call-text.ts'
import { servedOf } from '../served.ts'
import { NAME } from './name.ts'
import { ownNames } from './usage.ts'

/** Decodes the fields that other formats can express. `raw` keeps the whole item, which goes back
 *  to its own provider only. */
export const decodeHostedCall = (item: Fields): HostedCall => {
  const { tool, decode } = DECODERS[lenientText(item, 'type') ?? ''] ?? {
    tool: 'other',
    decode: () => ({}),
  }
  const hasFailed = lenientText(item, 'status') === 'failed'
  return {
    type: 'hostedCall',
    tool,
    id: lenientText(item, 'id') ?? '',
    input: null,
    ...decode(item),
    ...(hasFailed && { error: lenientText(item, 'error') ?? 'failed' }),
    raw: { origin: NAME, items: [item] },
  }
}
type Decode = (item: Fields) => Partial<HostedCall>

const decodeSearch: Decode = item => {
  const action = isFields(item.action) ? item.action : parseArguments(item)
  const sources: Citation[] = []
  for (const { url } of lenientObjects(action, 'sources'))
    if (typeof url === 'string') sources.push({ url })
  const { sources: _, type: __, ...input } = action
  return { input, ...(sources.length > 0 && { sources }) }
}
const decodeCode: Decode = item => {
  const code = lenientText(item, 'code') ?? lenientText(parseArguments(item), 'code') ?? ''
  const logs = lenientObjects(item, 'outputs').map(output => lenientText(output, 'logs') ?? '')
  const [magic, language] = CELL_MAGIC.exec(code) ?? ['']
  const input = { ...(language && { language }), code: code.slice(magic.length) }
  return { input, ...(Array.isArray(item.outputs) && { output: logs.join('') }) }
}
/** The interpreter's items name no language. It runs cells of notebooks, whose first line may name
 *  another than Python. */
const CELL_MAGIC = /^%%(bash|sh|javascript|perl|ruby)[ \t]*\r?\n/
const cellOf = (call: HostedCall): string => {
  const { language, code } = programOf(call)
  const cell = `%%${language}\n${code}`
  return CELL_MAGIC.test(cell) ? cell : code
}
/** An upstream that imitates this format sends hosted calls with `arguments`, as function calls
 *  have them. */
const parseArguments = (item: Fields): Fields => {
  const callArguments = parseJson(lenientText(item, 'arguments') ?? '')
  return isFields(callArguments) ? callArguments : {}
}
const decodeFileSearch: Decode = item => {
  const results = lenientObjects(item, 'results').map(result => {
    const file = lenientText(result, 'file_id')
    const title = lenientText(result, 'filename')
    const quote = lenientText(result, 'text')
    return { ...(file && { file }), ...(title && { title }), ...(quote && { quote }) }
  })
  return { input: { queries: item.queries ?? [] }, ...(results.length > 0 && { sources: results }) }
}
const decodeMcpCall: Decode = item => {
  const server = lenientText(item, 'server_label') ?? ''
  const tool = lenientText(item, 'name') ?? ''
  const output = lenientText(item, 'output')
  const failed = item.error !== undefined && item.error !== null
  return {
    mcp: { server, tool },
    input: parseArguments(item),
    ...(output !== undefined && { output }),
    ...(failed && { error: errorText(item.error) }),
  }
}
const errorText = (error: Json | undefined): string =>
  typeof error === 'string' ? error : JSON.stringify(error)
const DECODERS: Readonly<
  Record<string, { readonly tool: HostedCall['tool']; readonly decode: Decode }>
> = {
  web_search_call: { tool: 'web_search', decode: decodeSearch },
  code_interpreter_call: { tool: 'code_execution', decode: decodeCode },
  file_search_call: { tool: 'file_search', decode: decodeFileSearch },
  mcp_call: { tool: 'other', decode: decodeMcpCall },
}

/** Encodes a call as an item; undefined if this format has no item for the tool. `id`: the item's
 *  id without its prefix, for calls that came from another format. */
export const encodeHostedCall = (
  call: HostedCall,
  id: string,
  status: string,
): Fields | undefined => {
  const originalItem = originalItemOf(call)
  if (originalItem) return originalItem
  const encode = call.mcp ? encodeMcpCall : ENCODERS[call.tool]
  if (!encode) return undefined
  const { type, idPrefix, ...members } = encode(call)
  return { id: `${idPrefix}_${id}`, type, status: call.error ? 'failed' : status, ...members }
}
/** The item as the provider sent it; undefined if the call came from another format. */
export const originalItemOf = ({ raw }: HostedCall): Fields | undefined => {
  const [item] = raw?.origin === NAME ? raw.items : []
  return isFields(item) ? item : undefined
}
type NewItem = { readonly type: string; readonly idPrefix: string } & Fields

const encodeSearch = ({ input, sources: pages }: HostedCall): NewItem => {
  const { query, url, pattern } = isFields(input) ? input : { query: input }
  const sources = pages?.flatMap(page => (page.url ? [{ type: 'url', url: page.url }] : []))
  const action = omitUndefined({
    type: url === undefined ? 'search' : pattern === undefined ? 'open_page' : 'find_in_page',
    ...(url === undefined && { query: typeof query === 'string' ? query : '' }),
    url,
    pattern,
    sources,
  })
  return { type: 'web_search_call', idPrefix: 'ws', action }
}
const encodeCode = (call: HostedCall): NewItem => ({
  type: 'code_interpreter_call',
  idPrefix: 'ci',
  code: cellOf(call),
  container_id: `cntr_${call.id}`,
  outputs: call.output === undefined ? null : [{ type: 'logs', logs: outputText(call.output) }],
})
const encodeFileSearch = ({ input, sources }: HostedCall): NewItem => {
  const { queries, query } = isFields(input) ? input : { query: input }
  return {
    type: 'file_search_call',
    idPrefix: 'fs',
    queries: Array.isArray(queries) ? queries : [typeof query === 'string' ? query : ''],
    results:
      sources?.map(({ file = '', title = '', quote = '' }) => ({
        file_id: file,
        filename: title,
        text: quote,
        // Clients expect both; other providers score no results.
        attributes: {},
        score: 0,
      })) ?? null,
  }
}
const encodeMcpCall = ({ mcp, input, output, error }: HostedCall): NewItem => ({
  type: 'mcp_call',
  idPrefix: 'mcp',
  server_label: mcp?.server ?? '',
  name: mcp?.tool ?? '',
  arguments: JSON.stringify(input ?? {}),
  output: output === undefined || error !== undefined ? null : outputText(output),
  error: error === undefined ? null : mcpError(error),
})
/** The provider's kinds of errors have members of their own; this one has only content. */
const mcpError = (text: string): Json => ({
  type: 'mcp_tool_execution_error',
  content: [{ type: 'text', text }],
})
const ENCODERS: Readonly<Record<string, (call: HostedCall) => NewItem>> = {
  web_search: encodeSearch,
  web_fetch: encodeSearch,
  url_context: encodeSearch,
  code_execution: encodeCode,
  file_search: encodeFileSearch,
}

export const hostedUsage: HostedUsageFacts = {
  marks: ['_call"', 'tool_usage', 'environment"'],
  begin: () => startCounting(),
}
const startCounting = (): HostedUsage => {
  /** Item id -> meter. An item occurs twice: when it is done, and in the whole response. */
  const items = new Map<string, Meter>()
  /** Attributes of the generated images, by item id. */
  const images = new Map<string, Fields>()
  let reportedMeters: Meters = {}
  const add = (item: Json | undefined, position: number): void => {
    const meter = isFields(item) ? meterOf(item) : undefined
    if (!isFields(item) || !meter) return
    const key = keyOf(item, meter, position)
    items.set(key, meter)
    if (meter === 'image_generation') images.set(key, item)
  }
  return {
    observe(body) {
      if (body.type === 'response.output_item.done') return add(body.item, count(body.output_index))
      const response = isFields(body.response) ? body.response : body
      if (Array.isArray(response.output)) response.output.forEach(add)
      reportedMeters = { ...reportedMeters, ...reportedMetersOf(response) }
    },
    get meters() {
      const meters: { [meter: string]: number } = {}
      for (const meter of items.values()) meters[meter] = (meters[meter] ?? 0) + 1
      return omitZeroMeters({ ...meters, ...reportedMeters })
    },
    get attributes() {
      return sharedAttributes([...images.values()])
    },
  }
}
/** A call has one value of an attribute: images that differ in it name none. */
const sharedAttributes = (images: readonly Fields[]): Attributes | undefined => {
  const [first = {}, ...others] = images
  const shared = IMAGE_TOOL_ATTRIBUTES.filter(name =>
    others.every(each => each[name] === first[name]),
  )
  const values = Object.fromEntries(shared.map(name => [name, first[name]]))
  return servedOf(undefined, undefined, values).attributes
}
/** Programs in one container are one session. */
const keyOf = (item: Fields, meter: Meter, position: number): string => {
  const environment = lenientObject(item, 'environment')
  const container = lenientText(item, 'container_id') ?? lenientText(environment, 'container_id')
  return meter === 'code_execution' && container !== undefined
    ? container
    : String(item.id ?? position)
}
/** Opening a search result is part of the search. Failed calls are not charged; a shell without a
 *  container is the client's. */
const meterOf = (item: Fields): Meter | undefined => {
  const type = lenientText(item, 'type') ?? ''
  const { type: action } = lenientObject(item, 'action')
  if (!type.endsWith('_call') || item.status === 'failed') return undefined
  if (action === 'open_page' || action === 'find_in_page') return undefined
  if (type === 'shell_call') {
    const place = lenientText(lenientObject(item, 'environment'), 'type') ?? ''
    return place.startsWith('container') ? 'code_execution' : undefined
  }
  return meterOfCall(type)
}

/** The upstream's own numbers: OpenAI's searches, tokens of images and requests of tools that no
 *  table knows, xAI's calls by tool. They replace the counted items. */
const reportedMetersOf = (response: Fields): Meters => {
  const usage = lenientObject(response, 'tool_usage')
  const { num_requests: searches } = lenientObject(usage, 'web_search')
  const image = ownNames(lenientObject(usage, 'image_gen'))
  const calls = lenientObject(lenientObject(response, 'usage'), 'server_side_tool_usage_details')
  return {
    ...otherRequestsIn(usage),
    ...metersOfCalls(calls, '_calls'),
    ...(typeof searches === 'number' && { web_search: count(searches) }),
    ...(count(image.output_tokens) + count(image.input_tokens) > 0 && {
      image_generation_input: count(image.input_tokens),
      image_generation_output: count(image.output_tokens),
    }),
  }
}
const otherRequestsIn = (usage: Fields): Meters => {
  let requests = 0
  for (const name in usage)
    if (name !== 'image_gen' && meterOfCall(name) === 'other_tools')
      requests += count(lenientObject(usage, name).num_requests)
  return requests > 0 ? { other_tools: requests } : {}
}
