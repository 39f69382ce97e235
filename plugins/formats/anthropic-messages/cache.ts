/** Converts cache breakpoints, and keeps whole blocks that only this format can express. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../fields.ts'
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
