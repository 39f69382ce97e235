/** Cache breakpoints for requests without any: `prompt_cache: { breakpoints: auto }`. Pure. */
import type { Cache, Content } from './content.ts'
import type { Prompt, Tool } from './prompt.ts'

export interface AutoCache {
  readonly ttl?: string
}
/** Turns of the user that are marked, beside tools and system prompt. */
export const MARKED_TURNS = 2

/** Marks the tools, the system prompt and the last turns of the user, unless the client marks a
 *  breakpoint itself. */
export const addBreakpoints = (prompt: Prompt, { ttl }: AutoCache): Prompt => {
  if (hasCache(prompt)) return prompt
  const cache: Cache = { isAdded: true, ...(ttl !== undefined && { ttl }) }
  const { turns, tools } = prompt
  const start = turns.findIndex(({ role }) => role !== 'system')
  const users = turns.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  const marked = new Set([...users.slice(-MARKED_TURNS), ...(start > 0 ? [start - 1] : [])])
  const lastTool = tools.findLastIndex(({ type }) => type === 'function' || type === 'free')
  return {
    ...prompt,
    tools: tools.map((tool, index) =>
      index === lastTool ? { ...tool, cache: { ...cache } } : tool,
    ),
    turns: turns.map((turn, index) =>
      marked.has(index) ? { ...turn, content: markLast(turn.content, { ...cache }) } : turn,
    ),
  }
}

/** Marks the last content that can hold a breakpoint. */
const markLast = (contents: readonly Content[], cache: Cache): readonly Content[] => {
  const at = contents.findLastIndex(isMarkable)
  return at < 0 ? contents : contents.with(at, { ...contents[at], cache } as Content)
}
/** Providers refuse a breakpoint at an empty text. */
const isMarkable = (content: Content): boolean =>
  content.type === 'text' ? content.text.trim() !== '' : MARKABLE.has(content.type)
const MARKABLE: ReadonlySet<Content['type']> = new Set(['media', 'call', 'result'])

const cacheOf = (each: Content | Tool): Cache | undefined =>
  'cache' in each ? each.cache : undefined
const hasCache = ({ turns, tools, cache }: Prompt): boolean =>
  cache !== undefined ||
  tools.some(cacheOf) ||
  turns.some(({ content }) =>
    content.some(each => cacheOf(each) || (each.type === 'result' && each.content.some(cacheOf))),
  )
