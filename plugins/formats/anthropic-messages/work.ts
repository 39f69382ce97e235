/** Decodes hosted tools: a use block and a result block become one hosted call of the hub. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, HostedName, Work } from '../content.ts'
import { type Fields, isFields } from '../fields.ts'
import { readFound } from './citations.ts'
import { neededText, OWN, objects, type Place, text } from './read.ts'

const TOOLS: Readonly<Record<string, HostedName>> = {
  web_search: 'web_search',
  web_fetch: 'web_fetch',
  code_execution: 'code_execution',
  bash_code_execution: 'code_execution',
  text_editor_code_execution: 'code_execution',
  file_search: 'file_search',
  image_generation: 'image_generation',
}
/** Input members that other formats know: the query, the code, the URL. */
const ASKED: readonly string[] = ['query', 'code', 'command', 'url']

const USES: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use'])
export const isUse = (type: string): boolean => USES.has(type)
export const isResult = (type: string): boolean =>
  type.endsWith('_tool_result') && type !== 'tool_result'

type Raw = NonNullable<Work['raw']>

/** Pairs use and result blocks. Several calls may run at once or nested. Their blocks form one
 *  group, and the call that ends last keeps the group's blocks, so that they can be sent back in
 *  order. */
export class Works {
  readonly #open = new Map<string, Work>()
  #items: Json[] = []

  /** `raw`: another provider's items, which these blocks only represent. */
  use(block: Fields, at: Place, raw?: Raw): Work {
    const work = { ...begunWork(block, at), ...(raw && { raw }) }
    if (!raw) this.#items.push(block)
    this.#open.set(work.id, work)
    return work
  }
  result(block: Fields, at: Place): Work {
    const id = neededText(block, 'tool_use_id', at)
    const type = neededText(block, 'type', at)
    const known = this.#open.get(id)
    const work = known ?? {
      type: 'work',
      tool: TOOLS[type.slice(0, -'_tool_result'.length)] ?? 'other',
      id,
      input: null,
      raw: NOTHING,
    }
    if (work.raw?.origin === OWN) this.#items.push(block)
    this.#open.delete(id)
    return this.#done({ ...work, ...outcome(block) })
  }
  /** Returns the calls without a result. */
  rest(): readonly Work[] {
    const left = [...this.#open.values()]
    this.#open.clear()
    return left.map((work, index) => (index === left.length - 1 ? this.#done(work) : work))
  }
  #done(work: Work): Work {
    if (work.raw?.origin !== OWN || this.#open.size > 0) return work
    const items = this.#items
    this.#items = []
    return { ...work, raw: { origin: OWN, items } }
  }
}
/** A call without its result. */
export const begunWork = (block: Fields, at: Place): Work => ({
  type: 'work',
  tool: toolOf(block, neededText(block, 'name', at)),
  id: neededText(block, 'id', at),
  input: askedOf(block.input ?? {}),
  raw: NOTHING,
})
/** A tool of an MCP server of the client is not a hosted tool. */
const toolOf = (block: Fields, name: string): Work['tool'] =>
  (typeof block.server_name === 'string' ? undefined : TOOLS[name]) ?? 'other'

const NOTHING: Raw = { origin: OWN, items: [] }

const askedOf = (input: Json): Json => {
  if (!isFields(input)) return input
  const [key, ...others] = Object.keys(input)
  const known = key !== undefined && others.length === 0 && ASKED.includes(key)
  return known ? (input[key] ?? null) : input
}

/** The result as far as other formats can express it. */
const outcome = (block: Fields): Pick<Work, 'output' | 'found' | 'failed'> => {
  const content = block.content ?? null
  if (Array.isArray(content)) return listed(content)
  if (!isFields(content)) return typeof content === 'string' ? { output: content } : {}
  const type = text(content, 'type', undefined) ?? ''
  if (type.endsWith('_error')) return { failed: text(content, 'error_code', undefined) ?? type }
  if (type === 'web_fetch_result') return fetched(content)
  return printed(content)
}
const listed = (content: readonly Json[]): Pick<Work, 'output' | 'found'> => {
  const blocks = objects(content, undefined)
  const found = blocks.filter(({ fields }) => typeof fields.url === 'string')
  const said = blocks.flatMap(({ fields }) => text(fields, 'text', undefined) ?? [])
  return {
    found: found.map(({ fields }) => pageOf(fields)),
    ...(said.length > 0 && { output: said.join('\n') }),
  }
}
const pageOf = (fields: Fields): Citation => {
  const title = text(fields, 'title', undefined)
  return {
    ...readFound(fields, 'encrypted_content', undefined),
    ...(title !== undefined && { title }),
  }
}
const fetched = (content: Fields): Pick<Work, 'output' | 'found'> => {
  const document = isFields(content.content) ? content.content : {}
  const source = isFields(document.source) ? document.source : {}
  const page = source.type === 'text' ? text(source, 'data', undefined) : undefined
  const title = text(document, 'title', undefined)
  return {
    found: [{ ...readFound(content, '', undefined), ...(title !== undefined && { title }) }],
    ...(page !== undefined && { output: page }),
  }
}
/** The output of code; the whole content of other results. */
const printed = (content: Fields): Pick<Work, 'output'> => {
  const { stdout, stderr } = content
  if (typeof stdout !== 'string') return { output: content }
  return { output: stdout + (typeof stderr === 'string' ? stderr : '') }
}
