/** Operations and schemas of the OpenAPI document, from routes made by hand. */
import t from 'tap'
import type { RouteDescription, RouteView } from '../../../engine/plugin.ts'
import { csvLine } from '../../../plugins/account/price-sheet.ts'
import { Components, formSchema } from '../../../plugins/openapi/body-schemas.ts'
import { describeOperation, operationsOf } from '../../../plugins/openapi/operations.ts'

const routeOf = (method: string, path: string, about: RouteDescription, name = 'a route') =>
  ({ name, method, path, about, stages: [], options: {}, upstreams: [] }) satisfies RouteView
const describe = (about: RouteDescription, path = '/items/{id}:go') => {
  const [operation] = operationsOf([routeOf('POST', path, about)])
  const [components, schemes] = [new Components(), new Map()]
  const described = operation && describeOperation(operation, components, schemes)
  return { described, components, schemes }
}

t.test('operations: a route with several methods has one for each, with ids of their own', t => {
  const ids = operationsOf([routeOf('GET|POST', '/x', {}, 'GET /x y')]).map(({ id }) => id)
  t.same(ids, ['get-x-y-get', 'get-x-y-post'])
  t.same(operationsOf([routeOf('GET', '/x', {}, 'x.y')])[0]?.id, 'x.y')
  const own = { name: 'one', method: 'GET', path: '/x/one', summary: 'One' }
  t.match(operationsOf([routeOf('GET|POST', '/x/{y}', { operations: [own] })]), [
    { id: 'one', method: 'GET', path: '/x/one', about: { summary: 'One' } },
  ])
  t.end()
})

t.test('operations: a route that describes nothing is still one, and public', t => {
  const { described, schemes } = describe({})
  t.match(described, {
    operationId: 'a-route',
    summary: 'a-route',
    parameters: [{ name: 'id', in: 'path', required: true }],
    security: [],
    'x-price': { free: true },
  })
  t.notOk(described?.requestBody)
  t.equal(schemes.size, 0)
  t.end()
})

t.test('operations: where a credential is optional, none is among the alternatives', t => {
  const credentials = [{ kind: 'API key', in: 'header', name: 'authorization' }] as const
  t.same(describe({ credentials }).described?.security, [{ 'API-key': [] }])
  t.same(describe({ credentials, isOpen: true }).described?.security, [{ 'API-key': [] }, {}])
  t.end()
})

t.test('components: definitions move out, and own keywords go, but not members of a body', t => {
  const long = 'x'.repeat(200)
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    description: long,
    type: 'object',
    errorMessage: 'wrong',
    properties: {
      errorMessage: { type: 'string', errorMessage: 'wrong' },
      again: { $ref: '#' },
      part: { $ref: '#/$defs/part' },
      kind: { const: { $defs: 1, maxTotal: 2 } },
    },
    $defs: { part: { maxTotal: 7, items: { $ref: '#/$defs/part' } } },
  }
  const components = new Components()
  t.same(components.add('a.request', schema), { $ref: '#/components/schemas/a.request' })
  t.same(components.add('b.request', schema), { $ref: '#/components/schemas/a.request' }, 'equal')
  t.same(components.schemas, {
    'a.request': {
      description: long,
      type: 'object',
      properties: {
        errorMessage: { type: 'string' },
        again: { $ref: '#/components/schemas/a.request' },
        part: { $ref: '#/components/schemas/a.request.part' },
        kind: { const: { $defs: 1, maxTotal: 2 } },
      },
    },
    'a.request.part': { items: { $ref: '#/components/schemas/a.request.part' } },
  })
  t.end()
})

t.test('components: files of a form are bytes, several only where the schema allows them', t => {
  const binary = { type: 'string', contentMediaType: 'application/octet-stream' }
  const list = { type: 'array', items: { type: 'object' } }
  const properties = { n: { type: 'integer' }, many: list, single: { ...list, maxItems: 1 } }
  t.same(formSchema({ required: ['n'], properties }, ['many', 'single', 'other']), {
    type: 'object',
    required: ['n'],
    properties: {
      n: { type: 'integer' },
      many: { type: 'array', items: binary },
      single: binary,
      other: binary,
    },
  })
  t.end()
})

t.test('price sheet: quotes what CSV needs, and makes no text a formula', t => {
  t.equal(
    csvLine(['a', 'b,c', 'say "x"', 'two\nlines', '']),
    'a,"b,c","say ""x""","two\nlines",\r\n',
  )
  t.equal(csvLine(['=1+1', '@x', '-2', '+3', '0.5']), "'=1+1,'@x,-2,'+3,0.5\r\n")
  t.end()
})

t.test('components: conditions on one member are cases', t => {
  const when = (value: string, then: object, more: object = {}) => ({
    if: { required: ['type'], properties: { type: { const: value } }, ...more },
    ...Object.fromEntries([['then', then]]),
  })
  const text = { required: ['text'], properties: { text: { type: 'string' } } }
  const cased = (allOf: readonly object[]) => {
    const components = new Components()
    const description = 'x'.repeat(200)
    components.add('a', JSON.parse(JSON.stringify({ description, allOf })))
    return Object.fromEntries(Object.entries(components.schemas.a ?? {}).slice(1))
  }
  t.same(cased([when('a', text), when('b', {})]), {
    anyOf: [
      {
        required: ['type', 'text'],
        properties: { type: { const: 'a' }, text: { type: 'string' } },
      },
      { required: ['type'], properties: { type: { const: 'b' } } },
      { properties: { type: { not: { enum: ['a', 'b'] } } } },
    ],
  })
  const others = [{}, { if: {} }, when('b', {}, { required: [] }), when('b', {}, { not: {} })]
  for (const other of others) {
    const allOf = [when('a', {}), other]
    t.same(cased(allOf), { allOf }, JSON.stringify(other))
  }
  t.end()
})

t.test('operations: members that depend on the configuration are in the schema of the body', t => {
  const body = { 'application/json': { required: ['a'], properties: { a: { type: 'string' } } } }
  const { described } = describe({ body, members: { a: { enum: ['x'] }, b: { type: 'null' } } })
  const schema = {
    required: ['a'],
    properties: { a: { type: 'string', enum: ['x'] }, b: { type: 'null' } },
  }
  t.match(described?.requestBody, { content: { 'application/json': { schema } } })
  t.end()
})
