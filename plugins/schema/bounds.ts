/** What a schema must bound so that judging a body takes a bounded time: texts tested by a pattern, lists compared with themselves. */
import type { Json } from '../../engine/plugin.ts'
import { reachOf } from './patterns.ts'

type Schema = { readonly [key: string]: Json }

/** What is not bounded, in words that say how to bound it. For a schema that compiles. */
export const endless = (schema: Json): readonly string[] => [...faultsOf(schema, '')]

/** Keys that hold values, not schemas; and keys that hold schemas under names of anybody's choice. */
const VALUES = new Set(['enum', 'const', 'default', 'examples'])
const NAMED = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions'],
  ...['dependentSchemas', 'dependencies'],
])

function* faultsOf(schema: Json | undefined, where: string): Generator<string> {
  if (Array.isArray(schema)) {
    for (const [index, each] of schema.entries()) yield* faultsOf(each, `${where}/${index}`)
    return
  }
  if (!isObject(schema)) return
  for (const rule of RULES) yield* rule(schema, where || 'the top')
  for (const [key, value] of Object.entries(schema)) {
    if (VALUES.has(key)) continue
    if (!NAMED.has(key)) yield* faultsOf(value, `${where}/${key}`)
    else if (isObject(value))
      for (const [name, each] of Object.entries(value))
        yield* faultsOf(each, `${where}/${key}/${name}`)
  }
}
const isObject = (value: Json | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Rule = (schema: Schema, where: string) => Generator<string>
const RULES: readonly Rule[] = [
  function* texts({ pattern, maxLength }, where) {
    if (typeof pattern === 'string') yield* beyond(pattern, maxLength, `at ${where}`, 'beside it')
  },
  function* names({ patternProperties, propertyNames }, where) {
    if (!isObject(patternProperties)) return
    const { maxLength } = isObject(propertyNames) ? propertyNames : {}
    for (const pattern of Object.keys(patternProperties))
      yield* beyond(pattern, maxLength, `of names at ${where}`, 'in `propertyNames`')
  },
  function* lists({ uniqueItems, items, maxItems = Number.POSITIVE_INFINITY }, where) {
    if (uniqueItems !== true || isScalar(items) || Number(maxItems) <= COMPARABLE) return
    yield `\`uniqueItems\` at ${where} compares each item with each: it needs \`maxItems\` of at most ${COMPARABLE}, or \`items\` of a \`type\` that is neither object nor array`
  },
]
/** Items compared with each other in some milliseconds. */
const COMPARABLE = 256

function* beyond(
  pattern: string,
  maxLength: Json | undefined,
  where: string,
  place: string,
): Generator<string> {
  const reach = reachOf(pattern)
  if (reach < (typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY))
    yield `the pattern ${JSON.stringify(pattern)} ${where} would be tested on texts of any length: it needs \`maxLength\` of at most ${reach} ${place}`
}
/** ajv looks such items up instead of comparing them. */
const isScalar = (items: Json | undefined): boolean => {
  const types = isObject(items) ? [items.type].flat() : []
  return types.length > 0 && types.every(type => type && type !== 'object' && type !== 'array')
}
