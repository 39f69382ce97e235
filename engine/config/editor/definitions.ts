/** Writes schemas that occur several times once, under `$defs`, and are referred to. Pure. */
import { isFields } from '../../kit.ts'

type Schema = { readonly [keyword: string]: unknown }
type Change = (schema: unknown, name: string) => unknown

/** Characters from which a schema is worth a definition: shorter ones stay where they are read. */
const SHORTEST = 150
const MAPS = ['properties', 'patternProperties']

/** The same schema with `$defs`. Schemas with an id of their own keep what is in them: references
 *  in them are to their own root. */
export const shareDefinitions = (root: object): object => {
  const counts = new Map<string, number>()
  const count: Change = (schema, name) => {
    const text = JSON.stringify(schema)
    counts.set(text, (counts.get(text) ?? 0) + 1)
    return changeParts(schema, name, count)
  }
  changeParts(root, '', count)
  return inlineSingles(defineRepeated(root, counts))
}

const defineRepeated = (root: object, counts: ReadonlyMap<string, number>): Schema => {
  const definitions: { [name: string]: unknown } = {}
  const references = new Map<string, Schema>()
  const define: Change = (schema, name) => {
    const text = JSON.stringify(schema)
    if (text.length < SHORTEST || (counts.get(text) ?? 0) < 2 || /"\$(?:ref|id)"/.test(text))
      return changeParts(schema, name, define)
    const known = references.get(text)
    if (known) return known
    const reference = { $ref: `#/$defs/${freeName(name, definitions)}` }
    references.set(text, reference)
    // The name is taken before the parts look for theirs.
    definitions[nameIn(reference)] = undefined
    definitions[nameIn(reference)] = changeParts(schema, name, define)
    return reference
  }
  const schema = changeParts(root, '', define) as Schema
  return { ...schema, ...(references.size > 0 && { $defs: definitions }) }
}
const freeName = (name: string, others: object): string => {
  let free = name
  for (let number = 2; Object.hasOwn(others, free); number++) free = `${name}-${number}`
  return free
}
const nameIn = ({ $ref }: Schema): string => String($ref).replace('#/$defs/', '')

/** Inlines a definition that only one other definition refers to, and only once. */
const inlineSingles = (root: Schema): Schema => {
  const { $defs } = root
  if (!isFields($defs)) return root
  const uses = new Map<string, number>()
  const note: Change = (schema, name) => {
    if (isReference(schema)) uses.set(nameIn(schema), (uses.get(nameIn(schema)) ?? 0) + 1)
    return changeParts(schema, name, note)
  }
  changeParts(root, '', note)
  for (const each of Object.values($defs)) changeParts(each, '', note)
  const isSingle = (name: string): boolean => uses.get(name) === 1
  const inline: Change = (schema, name) =>
    isReference(schema) && isSingle(nameIn(schema))
      ? changeParts($defs[nameIn(schema)], name, inline)
      : changeParts(schema, name, inline)
  const definitions = Object.entries($defs).flatMap(([name, each]) =>
    isSingle(name) ? [] : [[name, changeParts(each, name, inline)]],
  )
  return { ...(changeParts(root, '', inline) as Schema), $defs: Object.fromEntries(definitions) }
}
const isReference = (schema: unknown): schema is Schema =>
  isFields(schema) && String(schema.$ref).startsWith('#/$defs/')

/** `name`: of the key that the schema is about. */
const changeParts = (schema: unknown, name: string, change: Change): unknown => {
  if (!isFields(schema) || '$id' in schema) return schema
  const changed: { [keyword: string]: unknown } = { ...schema }
  for (const keyword of MAPS) {
    const parts = schema[keyword]
    if (isFields(parts))
      changed[keyword] = Object.fromEntries(
        Object.entries(parts).map(([key, each]) => [key, change(each, key)]),
      )
  }
  const { items, additionalProperties, anyOf } = schema
  if (isFields(items)) changed.items = change(items, `${name}-item`)
  if (isFields(additionalProperties))
    changed.additionalProperties = change(additionalProperties, `${name}-entry`)
  if (Array.isArray(anyOf)) changed.anyOf = anyOf.map(each => change(each, `${name}-form`))
  return changed
}
