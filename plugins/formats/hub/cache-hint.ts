/** Hints about prompt caching: how clients of OpenAI's formats give them (breakpoints of the
 *  provider, and the `cache_control` that several clients put beside a part, message or tool), and
 *  how many of them a target takes. */
import { type Fields, fieldsIn, textIn } from '../fields.ts'
import type { DroppedFields } from './codec.ts'
import type { Cache, Content } from './content.ts'
import type { Prompt, Tool } from './prompt.ts'

const BREAKPOINT = 'prompt_cache_breakpoint'
const CONTROL = 'cache_control'

/** `at`: the path of the part, message or tool; '' for the body. */
export const readCacheHint = (fields: Fields, at: string): { readonly cache?: Cache } => {
  for (const name of [BREAKPOINT, CONTROL]) {
    const path = at === '' ? name : `${at}.${name}`
    const hint = fieldsIn(fields, name, path)
    if (!hint) continue
    const ttl = textIn(hint, 'ttl', `${path}.ttl`)
    return { cache: { ...(ttl !== undefined && { ttl }), ...(name !== CONTROL && { name }) } }
  }
  return {}
}

/** Whether a cache lasts longer than five minutes; `30m` and `12h` are times of OpenAI. */
export const lastsLong = ({ ttl }: Cache): boolean => ttl === '1h' || ttl === '30m' || ttl === '12h'
export const dropCache = (cache: Cache | undefined, dropped: DroppedFields): void => {
  if (cache && !cache.isAdded) dropped.add(cache.name ?? CONTROL)
}

/** Members of a part, message or tool of OpenAI's formats. A breakpoint of these formats passes;
 *  `cache_control` does if the target's trait `cache_control` is set. */
export type CacheWriter = (cache: Cache | undefined) => Fields
export const cacheWriter =
  (hasControl: boolean, dropped: DroppedFields): CacheWriter =>
  cache => {
    if (!cache) return {}
    const ttl = cache.ttl === undefined ? {} : { ttl: cache.ttl }
    if (hasControl) return { [CONTROL]: { type: 'ephemeral', ...ttl } }
    if (cache.name === BREAKPOINT) return { [BREAKPOINT]: { mode: 'explicit', ...ttl } }
    dropCache(cache, dropped)
    return {}
  }

// ---------------------------------------------------------------- how many a target takes

/** Hints that stay of tools and system turns, and of the conversation, whatever the others have. */
const MIN_LEADING = 2
const MIN_TRAILING = 1

/** Leaves at most `most` hints: of the tools and the system prompt the last ones, and of the
 *  conversation the last ones, where the next turn finds what this one has cached. A long time
 *  behind a short one, which providers refuse, becomes short, and so does an unknown one. */
export const fitHints = (prompt: Prompt, most: number, dropped: DroppedFields): Prompt => {
  const leading = hintsIn([...prompt.tools, ...contentsOf(prompt, true)])
  const trailing = hintsIn(contentsOf(prompt, false))
  if (leading.length + trailing.length === 0) return prompt
  const free = most - (prompt.cache ? 1 : 0)
  const fromEnd = Math.max(MIN_TRAILING, free - Math.min(leading.length, MIN_LEADING))
  const atEnd = Math.min(trailing.length, fromEnd)
  const fitted = new Map<Cache, Cache>()
  let isShort = false
  for (const hint of [...lastOf(leading, free - atEnd), ...lastOf(trailing, atEnd)]) {
    const isChanged = lastsLong(hint) ? isShort : hint.ttl !== undefined
    fitted.set(hint, isChanged ? { ...hint, ttl: '5m' } : hint)
    isShort ||= !lastsLong(hint)
  }
  const fit = <T extends Tool | Content>(each: T): T => {
    if (!('cache' in each) || !each.cache) return each
    const { cache, ...rest } = each
    const hint = fitted.get(cache)
    if (hint === undefined || hint.ttl !== cache.ttl) dropCache(cache, dropped)
    return (hint ? { ...rest, cache: hint } : rest) as T
  }
  const fitContent = (each: Content): Content =>
    fit(each.type === 'result' ? { ...each, content: each.content.map(fit) } : each)
  return {
    ...prompt,
    tools: prompt.tools.map(fit),
    turns: prompt.turns.map(turn => ({ ...turn, content: turn.content.map(fitContent) })),
  }
}
const contentsOf = ({ turns }: Prompt, areSystem: boolean): readonly Content[] =>
  turns
    .filter(({ role }) => (role === 'system') === areSystem)
    .flatMap(({ content }) => content)
    .flatMap((each): readonly Content[] =>
      each.type === 'result' ? [...each.content, each] : [each],
    )
const hintsIn = (parts: readonly (Tool | Content)[]): readonly Cache[] =>
  parts.flatMap(each => ('cache' in each && each.cache ? [each.cache] : []))
const lastOf = <T>(list: readonly T[], count: number): readonly T[] =>
  count > 0 ? list.slice(-count) : []
