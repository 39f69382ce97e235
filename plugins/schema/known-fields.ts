/** Keeps the members of a body that its schema names. Pure. */
import type { Json } from '../../engine/plugin.ts'

type Fields = { readonly [name: string]: Json }
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value without unknown members; the same value if it has none. Reads `properties` and `items`
 *  only: an object whose schema has no `properties` stays whole. */
export const dropUnknown = (schema: Json | undefined, value: Json): Json => {
  if (!isFields(schema)) return value
  if (Array.isArray(value)) return replaceChanged(value, each => dropUnknown(schema.items, each))
  const { properties } = schema
  if (!isFields(value) || !isFields(properties)) return value
  const entries = Object.entries(value)
  const known = entries.filter(([name]) => Object.hasOwn(properties, name))
  const values = known.map(([name, each]) => [name, dropUnknown(properties[name], each)] as const)
  const isSame =
    values.length === entries.length && values.every(([name, each]) => each === value[name])
  return isSame ? value : Object.fromEntries(values)
}
const replaceChanged = (list: readonly Json[], change: (value: Json) => Json): readonly Json[] => {
  const changed = list.map(change)
  return changed.some((each, index) => each !== list[index]) ? changed : list
}

/** The value without members that are null: they count as absent. The same value if it has none. */
export const dropNulls = (value: Json): Json => {
  if (Array.isArray(value)) return replaceChanged(value, dropNulls)
  if (!isFields(value)) return value
  const entries = Object.entries(value).flatMap(([name, each]) =>
    each === null ? [] : [[name, dropNulls(each)] as const],
  )
  const isSame =
    entries.length === Object.keys(value).length &&
    entries.every(([name, each]) => each === value[name])
  return isSame ? value : Object.fromEntries(entries)
}
