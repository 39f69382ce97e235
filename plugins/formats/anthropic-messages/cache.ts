/** Converts cache breakpoints, and keeps whole blocks that only this format can express. */
import type { Json } from '../../../engine/plugin.ts'
import type { Cache, OpaquePayload } from '../content.ts'
import { type Fields, isFields, parsed } from '../fields.ts'
import { OWN, object, type Place, text, within } from './read.ts'

export const readCache = (block: Fields, at: Place): { readonly cache?: Cache } => {
  const control = object(block, 'cache_control', at)
  if (!control) return {}
  const ttl = text(control, 'ttl', within(at, 'cache_control'))
  return { cache: ttl === undefined ? {} : { ttl } }
}
export const writeCache = ({ cache }: { readonly cache?: Cache | undefined }): Fields =>
  cache
    ? { cache_control: { type: 'ephemeral', ...(cache.ttl !== undefined && { ttl: cache.ttl }) } }
    : {}

/** The kind of a payload that holds a whole block. Other formats use the hub content; an upstream
 *  of this format receives the original block. */
const BLOCK_KIND = 'block'
export const blockSeal = (block: Fields): OpaquePayload => ({
  origin: OWN,
  kind: BLOCK_KIND,
  data: JSON.stringify(block),
})
export const sealedBlock = (payload: OpaquePayload | undefined): Fields | undefined => {
  if (payload?.origin !== OWN || payload.kind !== BLOCK_KIND) return undefined
  return parsedObject(payload.data)
}

/** Parses the JSON object of a payload; undefined if it is invalid. */
export const parsedObject = (text: string): Fields | undefined => {
  const value = parsed(text)
  return isFields(value) ? value : undefined
}
export const parsedList = (text: string): readonly Json[] | undefined => {
  const value = parsed(text)
  return Array.isArray(value) ? value : undefined
}
