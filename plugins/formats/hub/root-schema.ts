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
  const { type: _, ...rest } = flatten(schema, schema, 0)
  return { type: 'object', ...rest }
}
/** Whether values of a schema are objects, as far as its root says. */
export const describesObject = (schema: Json): boolean => {
  if (!isFields(schema)) return false
  const { type } = flatten(schema, schema, 0)
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

/** Merges references and combinations of the root into it. */
const flatten = (schema: Fields, root: Fields, depth: number): Fields => {
  if (depth > MAX_DEPTH) return schema
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  const parts = [refTarget($ref, root), ...objectsIn(allOf)].filter(each => each !== undefined)
  let result: Fields = own
  for (const part of parts) result = merge(result, flatten(part, root, depth + 1), 'all')
  for (const list of [anyOf, oneOf]) {
    const options = objectsIn(list).map(each => flatten(each, root, depth + 1))
    const objects = options.filter(({ type, properties }) => type === 'object' || properties)
    const [first, ...others] = objects
    if (!first) continue
    const either = others.reduce((one, other) => merge(one, other, 'any'), first)
    result = merge(result, either, 'all')
    if (others.length > 0) result = describe(result, alternatives(objects))
  }
  return moveConstraints(result)
}
const refTarget = (reference: Json | undefined, root: Fields): Fields | undefined => {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  let target: Json | undefined = root
  for (const step of reference.slice(2).split('/'))
    target = isFields(target) ? target[step.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined
  return isFields(target) ? target : undefined
}

/** `all`: what both demand is demanded. `any`: only what each of them demands. */
const merge = (one: Fields, other: Fields, mode: 'all' | 'any'): Fields => {
  const properties: { [name: string]: Json } = { ...propertiesOf(one) }
  for (const [name, schema] of Object.entries(propertiesOf(other))) {
    const earlier = Object.hasOwn(properties, name) ? properties[name] : undefined
    properties[name] = earlier === undefined ? schema : both(earlier, schema, mode)
  }
  const required = requiredOf(one, other, mode)
  const { additionalProperties: closed, required: _, ...others } = { ...other, ...one }
  const isClosed = one.additionalProperties === false && other.additionalProperties === false
  return {
    ...others,
    ...(closed !== undefined && (closed !== false || isClosed) && { additionalProperties: closed }),
    ...((one.properties || other.properties) && { properties }),
    ...(required.length > 0 && { required }),
  }
}
const both = (one: Json, other: Json, mode: 'all' | 'any'): Json => {
  if (JSON.stringify(one) === JSON.stringify(other)) return one
  return mode === 'any' ? { anyOf: [one, other] } : { allOf: [one, other] }
}
const propertiesOf = ({ properties }: Fields): Fields => (isFields(properties) ? properties : {})
const requiredIn = ({ required }: Fields): readonly Json[] =>
  Array.isArray(required) ? required : []
const requiredOf = (one: Fields, other: Fields, mode: 'all' | 'any'): readonly Json[] => {
  if (mode === 'all') return [...new Set([...requiredIn(one), ...requiredIn(other)])]
  return requiredIn(one).filter(name => requiredIn(other).includes(name))
}

const alternatives = (options: readonly Fields[]): string =>
  `One of: ${options
    .map(each =>
      JSON.stringify(
        requiredIn(each).length > 0 ? requiredIn(each) : Object.keys(propertiesOf(each)),
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
