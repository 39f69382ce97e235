/** Converts and sets cache breakpoints, and keeps whole blocks that only this format can express.
 */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../fields.ts'
import type { Format } from '../format.ts'
import { MARKED_TURNS } from '../hub/auto-cache.ts'
import { fitHints, lastsLong } from '../hub/cache-hint.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Cache, OpaquePayload } from '../hub/content.ts'
import type { Prompt } from '../hub/prompt.ts'
import { type FieldPath, memberPath, NAME, objectIn, textIn } from './members.ts'

export const readCache = (block: Fields, at: FieldPath): { readonly cache?: Cache } => {
  const control = objectIn(block, 'cache_control', at)
  if (!control) return {}
  const ttl = textIn(control, 'ttl', memberPath(at, 'cache_control'))
  return { cache: ttl === undefined ? {} : { ttl } }
}
export const writeCache = ({ cache }: { readonly cache?: Cache | undefined }): Fields =>
  cache
    ? {
        cache_control: {
          type: 'ephemeral',
          ...(cache.ttl !== undefined && { ttl: lastsLong(cache) ? '1h' : cache.ttl }),
        },
      }
    : {}

/** The provider refuses a request with more breakpoints. */
const MAX_BREAKPOINTS = 4
export const fitBreakpoints = (prompt: Prompt, dropped: DroppedFields): Prompt =>
  fitHints(prompt, MAX_BREAKPOINTS, dropped)

/** The kind of a payload that holds a whole block. Other formats use the hub content; an upstream
 *  of this format receives the original block. */
const BLOCK_KIND = 'block'
export const blockPayload = (block: Fields): OpaquePayload => ({
  origin: NAME,
  kind: BLOCK_KIND,
  data: JSON.stringify(block),
})
export const blockInPayload = (payload: OpaquePayload | undefined): Fields | undefined => {
  if (payload?.origin !== NAME || payload.kind !== BLOCK_KIND) return undefined
  return parseObject(payload.data)
}

/** Parses the JSON object of a payload; undefined if it is invalid. */
export const parseObject = (text: string): Fields | undefined => {
  const value = parseJson(text)
  return isFields(value) ? value : undefined
}
export const parseList = (text: string): readonly Json[] | undefined => {
  const value = parseJson(text)
  return Array.isArray(value) ? value : undefined
}

// ---------------------------------------------------------------- requests without translation

type Member = readonly [key: string, value: Json]
const CONTROL = 'cache_control'

export const cachedMembers: NonNullable<Format['cachedMembers']> = (body, cache) => {
  const { system, tools, messages } = body
  if (hasControl(body)) return []
  const mark = (value: Json | undefined): Json | undefined =>
    markContent(value, writeCache({ cache }))
  const members: readonly (readonly [string, Json | undefined])[] = [
    ['system', mark(system)],
    ['tools', Array.isArray(tools) ? markTool(tools, writeCache({ cache })) : undefined],
    ['messages', Array.isArray(messages) ? markUserTurns(messages, mark) : undefined],
  ]
  return members.flatMap(([key, value]): Member[] => (value === undefined ? [] : [[key, value]]))
}

/** Whether the client set a breakpoint: at the request, a tool, or a block at any depth. */
const hasControl = (value: Json): boolean => {
  if (Array.isArray(value)) return value.some(each => hasControl(each))
  if (!isFields(value)) return false
  return Object.hasOwn(value, CONTROL) || CONTENTS.some(key => hasControl(value[key] ?? null))
}
const CONTENTS = ['system', 'tools', 'messages', 'content', 'source'] as const

/** A text or blocks with a breakpoint at the last block that can have one; undefined: none can. */
const markContent = (content: Json | undefined, control: Fields): Json | undefined => {
  if (typeof content === 'string')
    return content.trim() === '' ? undefined : [{ type: 'text', text: content, ...control }]
  return Array.isArray(content) ? markOne(content, isMarkable, control) : undefined
}
const isMarkable = (block: Fields): boolean =>
  block.type === 'text' ? String(block.text).trim() !== '' : MARKABLE.has(block.type as string)
const MARKABLE: ReadonlySet<string> = new Set(['image', 'document', 'tool_result', 'search_result'])
/** A tool whose loading is deferred is outside of the cached prefix. */
const markTool = (tools: readonly Json[], control: Fields): Json | undefined =>
  markOne(tools, ({ type, defer_loading }) => type !== 'mcp_toolset' && !defer_loading, control)

const markOne = (
  list: readonly Json[],
  isMarkable: (fields: Fields) => boolean,
  control: Fields,
): Json | undefined => {
  const at = list.findLastIndex(each => isFields(each) && isMarkable(each))
  return at < 0 ? undefined : list.with(at, { ...(list[at] as Fields), ...control })
}

const markUserTurns = (
  messages: readonly Json[],
  mark: (content: Json | undefined) => Json | undefined,
): Json => {
  const users = messages.flatMap((each, index) =>
    isFields(each) && each.role === 'user' ? [index] : [],
  )
  const marked = new Set(users.slice(-MARKED_TURNS))
  return messages.map((message, index) => {
    const content = marked.has(index) && isFields(message) ? mark(message.content) : undefined
    return content === undefined ? message : { ...(message as Fields), content }
  })
}
