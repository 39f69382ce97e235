/** Reads the OpenAPI document of a gateway, and checks bodies by its schemas. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly 'x-price': unknown
}
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
  readonly servers: readonly { readonly url: string }[]
  readonly 'x-websockets': readonly { readonly operationId: string; readonly path: string }[]
  readonly 'x-currency': string
  readonly 'x-prices': Readonly<Record<string, unknown>>
}

/** `token`: of an operator; without one it is the document of customers. */
export const readDocument = async (url: string, token?: string): Promise<OpenApiDocument> => {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/openapi.json`, { headers })
  return (await response.json()) as OpenApiDocument
}

export const operationsIn = (document: OpenApiDocument) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )

const JSON_TYPE = 'application/json'
/** Members that a schema does not name are refused, unless it says that there are more. */
const closed = (document: OpenApiDocument): OpenApiDocument =>
  JSON.parse(JSON.stringify(document), (_, value) =>
    value?.type === 'object' && value.properties && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  )

/** The errors of a body by a schema of the document; empty: it is valid. `isClosed`: a member that
 *  its schema does not name is an error. */
export const createChecker = (open: OpenApiDocument, { isClosed = false } = {}) => {
  const document = isClosed ? closed(open) : open
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  addFormats.default(ajv)
  ajv.addSchema({ ...document, $id: 'document' })
  const errorsIn = (schema: object | undefined, body: unknown): readonly string[] => {
    if (!schema) return ['there is no schema']
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
    const validate = ajv.compile(JSON.parse(text))
    if (validate(body)) return []
    return (validate.errors ?? []).map(each => `${each.instancePath} ${each.message}`)
  }
  const find = (id: string): Operation | undefined =>
    operationsIn(document).find(({ operation }) => operation.operationId === id)?.operation
  return {
    request: (id: string, body: unknown) =>
      errorsIn(find(id)?.requestBody?.content[JSON_TYPE]?.schema, body),
    /** `status`: a key of the responses. */
    response: (id: string, status: string, body: unknown) =>
      errorsIn(find(id)?.responses[status]?.content?.[JSON_TYPE]?.schema, body),
  }
}
