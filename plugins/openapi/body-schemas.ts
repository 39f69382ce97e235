/** Components of the document: schemas of bodies by name, with their own definitions beside them.
 *  Equal schemas are one component. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'

type Fields = { readonly [name: string]: Json }
type Members = Readonly<Record<string, Json>>

/** Keywords that only the gateway's own validator knows, and those of a whole file. */
const OWN: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$defs',
  'errorMessage',
  'maxTotal',
  'notAbove',
])
/** Keywords with values of the client, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required'])
/** Keywords with a schema for each name. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas'])
const DEFINITION = /^#\/\$defs\/([^/]+)$/

export class Components {
  readonly schemas: { [name: string]: Json } = {}
  readonly #names = new Map<string, string>()

  /** The schema as a reference to a component; a small one stays where it is. */
  add(name: string, schema: Json): Json {
    const text = JSON.stringify(schema)
    if (text.length < 200) return this.#rewrite(schema, name)
    const known = this.#names.get(text)
    if (known !== undefined) return referTo(known)
    this.#names.set(text, name)
    const definitions = isFields(schema) && isFields(schema.$defs) ? schema.$defs : {}
    this.schemas[name] = this.#rewrite(schema, name)
    for (const [key, each] of Object.entries(definitions))
      this.schemas[`${name}.${key}`] = this.#rewrite(each, name)
    return referTo(name)
  }
  /** The schema with references to the components that its definitions become. */
  #rewrite(schema: Json, owner: string): Json {
    if (Array.isArray(schema)) return schema.map(each => this.#rewrite(each, owner))
    if (!isFields(schema)) return schema
    return mapMembers(asCases(schema), (key, value) => {
      if (OWN.has(key)) return undefined
      if (key === '$ref') return referenceOf(String(value), owner)
      if (VALUES.has(key)) return value
      if (MAPS.has(key) && isFields(value))
        return mapMembers(value, (_, each) => this.#rewrite(each, owner))
      return this.#rewrite(value, owner)
    })
  }
}

/** Conditions on the value of one member become cases of `anyOf`, which programs that generate
 *  clients or requests can read. */
const asCases = (schema: Fields): Fields => {
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf) || allOf.length < 2 || 'anyOf' in schema) return schema
  const cases = allOf.map(caseOf)
  const [first] = cases
  if (!first || cases.some(each => each?.member !== first.member)) return schema
  const { member } = first
  const schemas = cases.flatMap(each => each?.schema ?? [])
  const values = cases.flatMap(each => each?.value ?? [])
  return { ...rest, anyOf: [...schemas, { properties: { [member]: { not: { enum: values } } } }] }
}
/** `{if: {required: [member], properties: {member: {const}}}, then}`. */
const caseOf = (condition: Json) => {
  const { if: test, then, ...others } = isFields(condition) ? condition : {}
  if (!isFields(test) || !isFields(then)) return undefined
  const { required, properties, ...beside } = test
  if (Object.keys({ ...others, ...beside }).length > 0) return undefined
  const [[member, is] = [], ...more] = isFields(properties) ? Object.entries(properties) : []
  if (member === undefined || more.length > 0 || String(required) !== member) return undefined
  if (!isFields(is) || is.const === undefined || Object.keys(is).length > 1) return undefined
  const needed = Array.isArray(then.required) ? then.required : []
  const own = isFields(then.properties) ? then.properties : {}
  const schema = { ...then, required: [member, ...needed], properties: { [member]: is, ...own } }
  return { member, value: is.const, schema }
}

/** The schema with more about some of its members. */
export const withMembers = (schema: Json, members: Members): Json => {
  const { properties = {}, ...rest } = isFields(schema) ? schema : {}
  const known: Members = isFields(properties) ? properties : {}
  const merged = mapMembers(members, (name, own) => {
    const before = known[name]
    return isFields(before) && isFields(own) ? { ...before, ...own } : own
  })
  return { ...rest, properties: { ...known, ...merged } }
}

const referTo = (name: string): Fields => ({ $ref: `#/components/schemas/${name}` })
const referenceOf = (reference: string, owner: string): string => {
  if (reference === '#') return `#/components/schemas/${owner}`
  const [, name] = DEFINITION.exec(reference) ?? []
  return name === undefined ? reference : `#/components/schemas/${owner}.${name}`
}
/** Members that become undefined are left out. */
const mapMembers = (
  members: Members,
  change: (key: string, value: Json) => Json | undefined,
): Fields =>
  Object.fromEntries(
    Object.entries(members).flatMap(([key, value]): [string, Json][] => {
      const changed = change(key, value)
      return changed === undefined ? [] : [[key, changed]]
    }),
  )

/** The schema of a form whose JSON has this schema: its files are bytes. */
export const formSchema = (schema: Json, files: readonly string[]): Json => {
  const { properties = {}, ...rest } = isFields(schema) ? schema : {}
  const known = isFields(properties) ? properties : {}
  const binaries = files.map(name => {
    const field = known[name]
    const isList = isFields(field) && [field.type].flat().includes('array') && field.maxItems !== 1
    return [name, isList ? { type: 'array', items: BINARY } : BINARY] as const
  })
  return { type: 'object', ...rest, properties: { ...known, ...Object.fromEntries(binaries) } }
}
const BINARY = { type: 'string', contentMediaType: 'application/octet-stream' }
