/** JSON Pointers (RFC 6901): where a value stands in an upstream's answer. */
import type { Json } from '../../engine/plugin.ts'

export const POINTER = '^(?:/(?:[^~/]|~[01])*)*$'

/** Undefined where the answer has no such value. */
export const readPointer = (json: Json | undefined, pointer: string): Json | undefined => {
  let value = json
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Readonly<Record<string, Json>>)[key]
  }
  return value
}
