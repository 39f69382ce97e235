/** The schemas inside a JSON Schema: one table for every conversion that walks through them.
 *  Pure. */
import type { Json } from '../../engine/plugin.ts'
import { isFields, lookUp } from './fields.ts'

type Convert = (schema: Json) => Json
const inList = (value: Json, convert: Convert): Json =>
  Array.isArray(value) ? value.map(each => convert(each)) : value
const inMap = (value: Json, convert: Convert): Json =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, convert(each)]))
    : value

const KEYWORDS: Readonly<Record<string, (value: Json, convert: Convert) => Json>> = {
  $defs: inMap,
  definitions: inMap,
  properties: inMap,
  anyOf: inList,
  allOf: inList,
  oneOf: inList,
  items: (value, convert) => convert(value),
}
/** The value of a keyword with its schemas converted; undefined: the keyword holds none. */
export const mapSubschemas = (word: string, value: Json, convert: Convert): Json | undefined =>
  lookUp(KEYWORDS, word)?.(value, convert)
