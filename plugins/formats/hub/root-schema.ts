/** Schemas whose root is a plain object, as providers demand of the arguments of tools: with a type
 *  and without alternatives, which move into the description. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'

const EMPTY: Fields = { type: 'object', properties: {} }
/** Keywords that combine schemas, and those that constrain a whole object. */
const BRANCHES = ['anyOf', 'oneOf'] as const
const CONSTRAINTS: readonly string[] = ['enum', 'const', 'not']
const REFUSED: readonly string[] = [...BRANCHES, 'allOf', '$ref', ...CONSTRAINTS]
/** The references that are resolved one after another. */
const MAX_DEPTH = 16

/** The same arguments as an object schema; it may allow more. Null, true and lists are schemas of
 *  tools without arguments. */
export const objectSchema = (schema: Json | undefined): Fields => {
  if (!isFields(schema)) return EMPTY
  if (schema.type === 'object' && !REFUSED.some(word => word in schema)) return schema
  const { type: _, ...rest } = new Flattening(schema).flatten(schema)
  return { type: 'object', ...rest }
}
/** Whether values of a schema are objects, as far as its root says. */
export const describesObject = (schema: Json): boolean => {
  if (!isFields(schema)) return false
  const { type } = new Flattening(schema).flatten(schema)
  const types = Array.isArray(type) ? type : [type]
  return type === undefined ? !isScalarChoice(schema) : types.includes('object')
}
const isScalarChoice = (schema: Fields): boolean =>
  BRANCHES.some(word => word in schema && objectsIn(schema[word]).every(isScalar)) ||
  'enum' in schema ||
  'const' in schema
const isScalar = ({ type, properties, $ref }: Fields): boolean =>
  type !== 'object' && properties === undefined && $ref === undefined

const objectsIn = (value: Json | undefined): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isFields) : []

/** Merges references and combinations of the root into it. Each schema is merged once, however many
 *  references lead to it; one that refers to itself demands nothing more. */
class Flattening {
  readonly #root: Fields
  readonly #results = new Map<Fields, Fields>()

  constructor(root: Fields) {
    this.#root = root
  }
  flatten(schema: Fields, depth = 0): Fields {
    if (depth > MAX_DEPTH) return schema
    const earlier = this.#results.get(schema)
    if (earlier) return earlier
    this.#results.set(schema, {})
    const result = this.#merged(schema, depth)
    this.#results.set(schema, result)
    return result
  }
  #merged(schema: Fields, depth: number): Fields {
    const { $ref, allOf, anyOf, oneOf, ...own } = schema
    const target = refTarget($ref, this.#root)
    const parts = [...(target ? [target] : []), ...objectsIn(allOf)]
    let result = merge([own, ...parts.map(each => this.flatten(each, depth + 1))], 'all')
    for (const list of [anyOf, oneOf]) {
      const options = objectsIn(list).map(each => this.flatten(each, depth + 1))
      const objects = options.filter(({ type, properties }) => type === 'object' || properties)
      if (objects.length === 0) continue
      result = merge([result, merge(objects, 'any')], 'all')
      if (objects.length > 1) result = describe(result, alternatives(objects))
    }
    return moveConstraints(result)
  }
}
const refTarget = (reference: Json | undefined, root: Fields): Fields | undefined => {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  let target: Json | undefined = root
  for (const step of reference.slice(2).split('/'))
    target = isFields(target) ? target[step.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined
  return isFields(target) ? target : undefined
}

/** `all`: what one of them demands is demanded. `any`: only what each of them demands. Of other
 *  keywords the first wins. */
const merge = (schemas: readonly Fields[], mode: 'all' | 'any'): Fields => {
  const [only, more] = schemas
  if (only && !more) return only
  const properties = mergeProperties(schemas, mode)
  const required = requiredOf(schemas, mode)
  const merged: { [word: string]: Json } = Object.assign({}, ...[...schemas].reverse())
  const { additionalProperties: closed, required: _, ...others } = merged
  const isClosed = schemas.every(each => each.additionalProperties === false)
  return {
    ...others,
    ...(closed !== undefined && (closed !== false || isClosed) && { additionalProperties: closed }),
    ...(schemas.some(each => each.properties) && { properties }),
    ...(required.length > 0 && { required }),
  }
}
/** A property with several schemas gets all of them. */
const mergeProperties = (schemas: readonly Fields[], mode: 'all' | 'any'): Fields => {
  /** Name -> text of a schema -> the schema. */
  const variants = new Map<string, Map<string, Json>>()
  for (const { properties } of schemas)
    for (const [name, schema] of Object.entries(isFields(properties) ? properties : {})) {
      const earlier = variants.get(name)
      if (earlier) earlier.set(JSON.stringify(schema), schema)
      else variants.set(name, new Map([[JSON.stringify(schema), schema]]))
    }
  const word = mode === 'any' ? 'anyOf' : 'allOf'
  return Object.fromEntries(
    [...variants].map(([name, own]) => {
      const [first = true, ...others] = own.values()
      return [name, others.length > 0 ? { [word]: [first, ...others] } : first]
    }),
  )
}
const requiredIn = ({ required }: Fields): readonly Json[] =>
  Array.isArray(required) ? required : []
const requiredOf = (schemas: readonly Fields[], mode: 'all' | 'any'): readonly Json[] => {
  if (mode === 'all') return [...new Set(schemas.flatMap(requiredIn))]
  const [first = [], ...others] = schemas.map(requiredIn)
  const sets = others.map(each => new Set(each))
  return first.filter(name => sets.every(each => each.has(name)))
}

const alternatives = (options: readonly Fields[]): string =>
  `One of: ${options
    .map(each =>
      JSON.stringify(
        requiredIn(each).length > 0 ? requiredIn(each) : Object.keys(each.properties ?? {}),
      ),
    )
    .join(', ')}.`
const moveConstraints = (schema: Fields): Fields => {
  let result = schema
  for (const word of CONSTRAINTS) {
    if (!(word in result)) continue
    const { [word]: value, ...rest } = result
    result = describe(rest, `${word}: ${JSON.stringify(value)}.`)
  }
  return result
}
const describe = (schema: Fields, sentence: string): Fields => {
  const { description } = schema
  return {
    ...schema,
    description: typeof description === 'string' ? `${description} ${sentence}` : sentence,
  }
}
