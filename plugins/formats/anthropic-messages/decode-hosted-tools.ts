/** Decodes hosted tools: a use block and a result block become one hosted call of the hub. Counts
 *  their calls. */
import type { Json } from '../../../engine/plugin.ts'
import { count, type Fields, isFields, lenientObject, lenientText } from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'
import { meterOfCall } from '../hosted-tools.ts'
import type { Citation, HostedCall, HostedToolName } from '../hub/content.ts'
import { readPage } from './answer/citations.ts'
import { type FieldPath, NAME, objectsIn, requiredText, textIn } from './members.ts'

const TOOLS: Readonly<Record<string, HostedToolName>> = {
  web_search: 'web_search',
  web_fetch: 'web_fetch',
  code_execution: 'code_execution',
  bash_code_execution: 'code_execution',
  text_editor_code_execution: 'code_execution',
  file_search: 'file_search',
  image_generation: 'image_generation',
}
/** Input members that other formats have, too: the query, the code, the URL. `command` stays named:
 *  it is the program of a shell. */
const INPUT_MEMBERS: readonly string[] = ['query', 'code', 'url']

const USE_TYPES: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use'])
export const isUse = (type: string): boolean => USE_TYPES.has(type)
export const isResult = (type: string): boolean =>
  type.endsWith('_tool_result') && type !== 'tool_result'

type Raw = NonNullable<HostedCall['raw']>

/** Pairs use and result blocks. Several calls may run at once or nested. Their blocks form one
 *  group, and the call that ends last keeps the group's blocks, so that they can be sent back in
 *  order. */
export class HostedCalls {
  readonly #openCalls = new Map<string, HostedCall>()
  #items: Json[] = []

  /** `raw`: another provider's items, which these blocks only represent. */
  addUse(block: Fields, at: FieldPath, raw?: Raw): HostedCall {
    const call = { ...startedCall(block, at), ...(raw && { raw }) }
    if (!raw) this.#items.push(block)
    this.#openCalls.set(call.id, call)
    return call
  }
  addResult(block: Fields, at: FieldPath): HostedCall {
    const id = requiredText(block, 'tool_use_id', at)
    const type = requiredText(block, 'type', at)
    const openCall = this.#openCalls.get(id)
    const call = openCall ?? {
      type: 'hostedCall',
      tool: TOOLS[type.slice(0, -'_tool_result'.length)] ?? 'other',
      id,
      input: null,
      raw: NO_ITEMS,
    }
    if (call.raw?.origin === NAME) this.#items.push(block)
    this.#openCalls.delete(id)
    return this.#closeGroup({ ...call, ...outcomeOf(block) })
  }
  /** Returns the calls without a result. */
  finishOpen(): readonly HostedCall[] {
    const openCalls = [...this.#openCalls.values()]
    this.#openCalls.clear()
    return openCalls.map((call, index) =>
      index === openCalls.length - 1 ? this.#closeGroup(call) : call,
    )
  }
  #closeGroup(call: HostedCall): HostedCall {
    if (call.raw?.origin !== NAME || this.#openCalls.size > 0) return call
    const items = this.#items
    this.#items = []
    return { ...call, raw: { origin: NAME, items } }
  }
}
/** A call without its result. */
export const startedCall = (block: Fields, at: FieldPath): HostedCall => ({
  type: 'hostedCall',
  tool: toolOf(block, requiredText(block, 'name', at)),
  ...mcpOf(block),
  id: requiredText(block, 'id', at),
  input: inputOf(block.input ?? {}),
  raw: NO_ITEMS,
})
/** A tool of an MCP server of the client is not a hosted tool. */
const toolOf = (block: Fields, name: string): HostedCall['tool'] =>
  (typeof block.server_name === 'string' ? undefined : TOOLS[name]) ?? 'other'

const mcpOf = (block: Fields): Pick<HostedCall, 'mcp'> => {
  const { server_name: server, name } = block
  return typeof server === 'string' && typeof name === 'string'
    ? { mcp: { server, tool: name } }
    : {}
}
const NO_ITEMS: Raw = { origin: NAME, items: [] }

const inputOf = (input: Json): Json => {
  if (!isFields(input)) return input
  const [key, ...others] = Object.keys(input)
  const isSingle = key !== undefined && others.length === 0 && INPUT_MEMBERS.includes(key)
  return isSingle ? (input[key] ?? null) : input
}

/** The result as far as other formats can express it. */
const outcomeOf = (block: Fields): Pick<HostedCall, 'output' | 'sources' | 'error'> => {
  const content = block.content ?? null
  if (block.is_error === true) return { error: errorText(content) }
  if (Array.isArray(content)) return listOutcome(content)
  if (!isFields(content)) return typeof content === 'string' ? { output: content } : {}
  const type = textIn(content, 'type', undefined) ?? ''
  if (type.endsWith('_error')) return { error: textIn(content, 'error_code', undefined) ?? type }
  if (type === 'web_fetch_result') return fetchOutcome(content)
  return outputOf(content)
}
/** The text of a failed call of an MCP server. */
const errorText = (content: Json): string => {
  const { output } = Array.isArray(content) ? listOutcome(content) : { output: content }
  return typeof output === 'string' && output !== '' ? output : 'failed'
}
const listOutcome = (content: readonly Json[]): Pick<HostedCall, 'output' | 'sources'> => {
  const blocks = objectsIn(content, undefined)
  const pages = blocks.filter(({ fields }) => typeof fields.url === 'string')
  const texts = blocks.flatMap(({ fields }) => textIn(fields, 'text', undefined) ?? [])
  return {
    sources: pages.map(({ fields }) => pageOf(fields)),
    ...(texts.length > 0 && { output: texts.join('\n') }),
  }
}
const pageOf = (fields: Fields): Citation => {
  const title = textIn(fields, 'title', undefined)
  return {
    ...readPage(fields, 'encrypted_content', undefined),
    ...(title !== undefined && { title }),
  }
}
const fetchOutcome = (content: Fields): Pick<HostedCall, 'output' | 'sources'> => {
  const document = isFields(content.content) ? content.content : {}
  const source = isFields(document.source) ? document.source : {}
  const page = source.type === 'text' ? textIn(source, 'data', undefined) : undefined
  const title = textIn(document, 'title', undefined)
  return {
    sources: [{ ...readPage(content, '', undefined), ...(title !== undefined && { title }) }],
    ...(page !== undefined && { output: page }),
  }
}
/** The output of code; the whole content of other results. */
const outputOf = (content: Fields): Pick<HostedCall, 'output'> => {
  const { stdout, stderr } = content
  if (typeof stdout !== 'string') return { output: content }
  return { output: stdout + (typeof stderr === 'string' ? stderr : '') }
}

/** The usage of a message omits containers of code, and tools that are not in the table. */
export const hostedUsage: HostedUsageFacts = {
  marks: ['server_tool_use'],
  begin: () => startCounting(),
}
const startCounting = (): HostedUsage => {
  /** Ids of the calls of unknown tools. */
  const others = new Set<string>()
  let hasContainer = false
  /** Requests for code that the upstream counts itself. */
  let reportedRequests = 0
  const add = (block: Json | undefined): void => {
    if (!isFields(block) || block.type !== 'server_tool_use') return
    const meter = meterOfCall(lenientText(block, 'name') ?? '')
    if (meter === 'code_execution') hasContainer = true
    if (meter === 'other_tools') others.add(String(block.id))
  }
  const addMessage = (message: Fields): void => {
    if (Array.isArray(message.content)) message.content.forEach(add)
    const { code_execution_requests: requests } = lenientObject(
      lenientObject(message, 'usage'),
      'server_tool_use',
    )
    reportedRequests = Math.max(reportedRequests, count(requests))
  }
  return {
    observe(body) {
      add(body.content_block)
      addMessage(isFields(body.message) ? body.message : body)
    },
    get meters() {
      // All programs of a message run in one container, which is what is billed.
      const sessions = reportedRequests > 0 ? reportedRequests : Number(hasContainer)
      return omitZeroMeters({ code_execution: sessions, other_tools: others.size })
    },
  }
}
