/** Operations of the document: what a client can call, one for each method of a route. Pure. */
import type { Json, RouteDescription, RouteView } from '../../engine/plugin.ts'
import { type Components, formSchema, withMembers } from './body-schemas.ts'

type Fields = { readonly [name: string]: Json }

/** A call that the gateway serves. */
export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly about: RouteDescription
}

/** The calls that customers can use, in the order of routes.yaml. */
export const customerOperationsOf = (routes: readonly RouteView[]): readonly Operation[] =>
  operationsOf(routes).filter(({ about }) => about.role !== 'admin')
/** The calls of all routes. */
export const operationsOf = (routes: readonly RouteView[]): readonly Operation[] =>
  routes.flatMap(({ name, method, path, about }) => {
    const { operations, ...shared } = about
    if (operations !== undefined)
      return operations.map(({ name: id, method: own, path: ownPath, ...part }) => {
        return { id, method: own, path: ownPath, about: { ...shared, ...part } }
      })
    const methods = method.split('|')
    return methods.map(each => {
      const id = methods.length > 1 ? `${name} ${each}` : name
      return { id: identifierOf(id), method: each, path, about: shared }
    })
  })
/** The name of a route, as generated clients can name a function. */
const identifierOf = (name: string): string =>
  /^[\w.-]+$/.test(name)
    ? name
    : name
        .toLowerCase()
        .replace(/[^\w.]+/g, '-')
        .replace(/^-+|-+$/g, '')

const VERSION = /^(?:api|v\d+(?:beta)?)$/
/** Calls are grouped by the first part of the path that is not a version. */
export const tagOf = (path: string): string =>
  path.split('/').find(part => part !== '' && !VERSION.test(part) && !part.startsWith('{')) ?? '/'

/** An operation object, and the components that it needs. */
export const describeOperation = (
  { id, path, about }: Operation,
  components: Components,
  schemes: SecuritySchemes,
): Fields => {
  const { summary = id, price = { free: true } } = about
  return {
    operationId: id,
    tags: [tagOf(path)],
    summary,
    parameters: parametersOf(path, about),
    ...requestBodyOf(id, about, components),
    responses: responsesOf(id, about, components),
    security: securityOf(about, schemes),
    'x-price': price,
  }
}

export const parametersOf = (path: string, { parameters = [] }: RouteDescription): Json => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const inPath = names.map(name => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  return [...inPath, ...parameters]
}

// ---------------------------------------------------------------- bodies

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'multipart/form-data'

const requestBodyOf = (
  id: string,
  { body = {}, form, members }: RouteDescription,
  components: Components,
): Fields => {
  const { [JSON_TYPE]: schema, ...others } = body
  const json = schema !== undefined && members ? withMembers(schema, members) : schema
  const bodies: { [type: string]: Json } = { ...others }
  if (json !== undefined && !form?.isOnly) bodies[JSON_TYPE] = json
  if (form) bodies[FORM_TYPE] = formSchema(json ?? {}, form.files)
  if (Object.keys(bodies).length === 0) return {}
  const suffix = (type: string) => (type === FORM_TYPE ? 'form' : 'request')
  const content = contentOf(bodies, type => `${id}.${suffix(type)}`, components)
  return { requestBody: { required: true, content } }
}

const contentOf = (
  bodies: Readonly<Record<string, Json>>,
  nameOf: (type: string) => string,
  components: Components,
): Fields =>
  Object.fromEntries(
    Object.entries(bodies).map(([type, schema]) => {
      return [type, { schema: components.add(nameOf(type), schema) }]
    }),
  )

const REQUEST_ID = {
  'x-request-id': { $ref: '#/components/headers/x-request-id' },
}
const responsesOf = (id: string, about: RouteDescription, components: Components): Fields => {
  const { responses = {}, alternatives = {}, refusals = {}, status = 200 } = about
  const headers = Object.fromEntries(
    Object.entries(about.headers ?? {}).map(([name, description]) => {
      return [name, { description, schema: { type: 'string' } }]
    }),
  )
  const success = {
    description: 'Success',
    headers: { ...REQUEST_ID, ...headers },
    content: contentOf(responses, () => `${id}.response`, components),
  }
  const others = Object.entries(alternatives).map(([code, schema]) => {
    const content = contentOf({ [JSON_TYPE]: schema }, () => `${id}.${code}`, components)
    return [code, { description: 'Not finished yet', headers: REQUEST_ID, content }] as const
  })
  const errors = Object.entries(refusals).map(([code, description]) => {
    return [code, errorResponse(description, about, components)] as const
  })
  return {
    [status]: success,
    ...Object.fromEntries([...others, ...errors]),
    default: errorResponse('Any other error', about, components),
  }
}
const errorResponse = (
  description: string,
  { error }: RouteDescription,
  components: Components,
): Fields => ({
  description,
  headers: REQUEST_ID,
  ...(error !== undefined && { content: { [JSON_TYPE]: { schema: errorOf(error, components) } } }),
})
/** Named by its title: `openai error`. */
const errorOf = (error: Json, components: Components): Json => {
  const { title = 'error' } = error as { readonly title?: string }
  const name = title.replaceAll(' ', '-')
  components.schemas[name] ??= error
  return { $ref: `#/components/schemas/${name}` }
}

// ---------------------------------------------------------------- credentials

/** The security schemes that the operations refer to, by name. */
export type SecuritySchemes = Map<string, Fields>
type Credential = NonNullable<RouteDescription['credentials']>[number]

/** One of them suffices; none: the call is public. */
export const securityOf = (
  { credentials = [], isOpen }: RouteDescription,
  schemes: SecuritySchemes,
): Json => {
  const names = credentials.map(credential => {
    const isBearer = credential.name === 'authorization'
    const name = `${credential.kind}${isBearer ? '' : ` in ${credential.in} ${credential.name}`}`
    const key = name.replace(/[^\w.-]+/g, '-')
    schemes.set(key, schemeOf(credential, isBearer))
    return { [key]: [] }
  })
  return [...names, ...(isOpen ? [{}] : [])]
}
const schemeOf = ({ kind, in: place, name }: Credential, isBearer: boolean): Fields => {
  const description = `${kind[0]?.toUpperCase()}${kind.slice(1)}`
  return isBearer
    ? { type: 'http', scheme: 'bearer', description }
    : { type: 'apiKey', in: place, name, description }
}
