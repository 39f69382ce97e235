/** The OpenAPI document of the gateway as the page of the API shows it: its calls, and the members
 *  of a body as rows. Pure. */

export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
interface Response {
  readonly description: string
  readonly content?: Content
}
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly 'x-price'?: unknown
}
/** `http`: an Authorization header; `apiKey`: a header, query parameter or cookie of a name. */
interface SecurityScheme {
  readonly type: 'http' | 'apiKey'
  readonly in?: string
  readonly name?: string
  /** The kind of credential: API key. */
  readonly description: string
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}
export interface ApiCall extends Operation {
  readonly method: string
  readonly path: string
}
export const callsOf = ({ paths }: OpenApi): readonly ApiCall[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      return { ...operation, method: method.toUpperCase(), path }
    }),
  )

/** A kind of credential that a call accepts, and its possible places in a request. */
export interface Credential {
  readonly kind: string
  readonly places: readonly string[]
}
/** Empty: a call without credentials. */
export const credentialsOf = (call: ApiCall, { components }: OpenApi): readonly Credential[] => {
  const places = new Map<string, string[]>()
  for (const name of call.security.flatMap(each => Object.keys(each))) {
    const scheme = components.securitySchemes[name]
    if (!scheme) continue
    const place = scheme.type === 'http' ? 'authorization: Bearer' : `${scheme.in} ${scheme.name}`
    places.set(scheme.description, [...(places.get(scheme.description) ?? []), place])
  }
  return Array.from(places, ([kind, each]) => ({ kind, places: each }))
}

/** A body of a request or a response. `schema` is undefined: without a body. */
export interface Body {
  readonly title: string
  readonly type?: string
  readonly schema?: Schema
}
export const bodiesOf = (title: string, content: Content = {}): readonly Body[] => {
  const bodies = Object.entries(content)
  if (bodies.length === 0) return [{ title }]
  return bodies.map(([type, { schema = {} }]) => ({ title, type, schema }))
}
export const successesOf = ({ responses }: ApiCall): readonly Body[] =>
  Object.entries(responses)
    .filter(([status]) => !isError(status))
    .flatMap(([status, { description, content }]) => bodiesOf(`${status} ${description}`, content))
/** The errors of a call by status, and their bodies: each once. */
export const errorsOf = ({ responses }: ApiCall) => {
  const errors = Object.entries(responses).filter(([status]) => isError(status))
  const bodies = errors.flatMap(([, { content }]) => bodiesOf('', content))
  const schemas = new Map(bodies.map(({ schema }) => [JSON.stringify(schema), schema]))
  return {
    statuses: errors.map(([status, { description }]) => ({ status, description })),
    schemas: [...schemas.values()].filter(schema => schema !== undefined),
  }
}
const isError = (status: string): boolean => !/^[123]/.test(status)

/** A member of a body. `name`: with the names of the members that it is in, `messages[].role`. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}
/** Members deeper than this are in the document itself. */
const DEEPEST = 4
const MOST_MEMBERS = 200

export const membersOf = (schema: Schema, document: OpenApi): readonly Member[] => {
  const members: Member[] = []
  const add = (inner: Schema, prefix: string, depth: number): void => {
    for (const each of alternativesOf(inner, document))
      for (const [name, member] of Object.entries(each.properties ?? {})) {
        const own = `${prefix}${name}`
        const isKnown = members.some(known => known.name === own)
        if (isKnown || members.length === MOST_MEMBERS) continue
        const resolved = resolve(member, document)
        members.push({
          name: own,
          type: typeOf(resolved, document),
          isRequired: each.required?.includes(name) ?? false,
          description: resolved.description ?? '',
        })
        if (depth < DEEPEST) descend(resolved, own, depth + 1)
      }
  }
  const descend = (member: Schema, name: string, depth: number): void => {
    for (const each of alternativesOf(member, document))
      if (each.items) add(each.items, `${name}[].`, depth)
      else add(each, `${name}.`, depth)
  }
  const { items } = resolve(schema, document)
  if (items) add(items, '[].', 0)
  else add(schema, '', 0)
  return members
}

/** The schema that a reference names; its description may be beside the reference. */
const resolve = (schema: Schema, document: OpenApi): Schema => {
  const { $ref, ...beside } = schema
  const name = $ref?.replace('#/components/schemas/', '')
  const target = name === undefined ? undefined : document.components.schemas[name]
  return target ? { ...target, ...beside } : schema
}
/** The schemas of which a value satisfies one, or all. */
const alternativesOf = (schema: Schema, document: OpenApi, depth = 0): readonly Schema[] => {
  const own = resolve(schema, document)
  const parts = depth < DEEPEST ? [own.anyOf, own.oneOf, own.allOf].flatMap(each => each ?? []) : []
  return [own, ...parts.flatMap(each => alternativesOf(each, document, depth + 1))]
}
const typeOf = (schema: Schema, document: OpenApi): string => {
  const types = alternativesOf(schema, document).flatMap(each => ownType(each, document))
  return [...new Set(types)].join(' | ') || 'any'
}
const ownType = (schema: Schema, document: OpenApi): readonly string[] => {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)]
  if (schema.enum) return schema.enum.map(each => JSON.stringify(each))
  if (schema.items) return [`${typeOf(resolve(schema.items, document), document)}[]`]
  return typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
}
