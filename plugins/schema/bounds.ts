/** Requires bounds in schemas so that validation takes bounded time: `maxLength` for texts with a
 *  pattern, `maxItems` for lists of unique items. */
import type { Json } from '../../engine/plugin.ts'
import { maxTestLength } from './patterns.ts'

type Schema = { readonly [key: string]: Json }

/** The missing bounds of a schema that compiles, each as a message that says how to add it. */
export const missingBounds = (schema: Json): readonly string[] => [...checkBounds(schema, '')]

/** Keywords with values instead of schemas, and keywords that map arbitrary names to schemas. */
const VALUE_KEYWORDS = new Set(['enum', 'const', 'default', 'examples'])
const MAP_KEYWORDS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

function* checkBounds(schema: Json | undefined, where: string): Generator<string> {
  if (Array.isArray(schema)) {
    for (const [index, each] of schema.entries()) yield* checkBounds(each, `${where}/${index}`)
    return
  }
  if (!isObject(schema)) return
  for (const rule of RULES) yield* rule(schema, where || 'the top')
  for (const [key, value] of Object.entries(schema)) {
    if (VALUE_KEYWORDS.has(key)) continue
    if (!MAP_KEYWORDS.has(key)) yield* checkBounds(value, `${where}/${key}`)
    else if (isObject(value))
      for (const [name, each] of Object.entries(value))
        yield* checkBounds(each, `${where}/${key}/${name}`)
  }
}
const isObject = (value: Json | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Rule = (schema: Schema, where: string) => Generator<string>
const RULES: readonly Rule[] = [
  function* texts({ pattern, maxLength }, where) {
    if (typeof pattern === 'string')
      yield* checkLength(pattern, maxLength, `at ${where}`, 'beside it')
  },
  function* names({ patternProperties, propertyNames }, where) {
    if (!isObject(patternProperties)) return
    const { maxLength } = isObject(propertyNames) ? propertyNames : {}
    for (const pattern of Object.keys(patternProperties))
      yield* checkLength(pattern, maxLength, `of names at ${where}`, 'in `propertyNames`')
  },
  function* lists({ uniqueItems, items, maxItems = Number.POSITIVE_INFINITY }, where) {
    if (uniqueItems !== true || isScalar(items) || Number(maxItems) <= MAX_COMPARED_ITEMS) return
    yield `\`uniqueItems\` at ${where} compares each item with each: it needs \`maxItems\` of at most ${MAX_COMPARED_ITEMS}, or \`items\` of a \`type\` that is neither object nor array`
  },
]
/** Number of items whose pairwise comparison takes a few milliseconds. */
const MAX_COMPARED_ITEMS = 256

function* checkLength(
  pattern: string,
  maxLength: Json | undefined,
  where: string,
  place: string,
): Generator<string> {
  const longest = maxTestLength(pattern)
  if (longest < (typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY))
    yield `the pattern ${JSON.stringify(pattern)} ${where} can take more than 10 ms on a long text: it needs \`maxLength\` of at most ${longest} ${place}`
}
/** ajv finds duplicates of scalar items by a lookup instead of comparing each pair. */
const isScalar = (items: Json | undefined): boolean => {
  const types = isObject(items) ? [items.type].flat() : []
  return types.length > 0 && types.every(type => type && type !== 'object' && type !== 'array')
}
