/** The OpenAPI 3.1 document of the running routes. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { catalogueOf } from '../catalogue/configured.ts'
import { readablePattern } from '../catalogue/pattern.ts'
import { Components } from './body-schemas.ts'
import {
  describeOperation,
  type Operation,
  parametersOf,
  type SecuritySchemes,
  securityOf,
  tagOf,
} from './operations.ts'

export const documentOf = (host: HostBase, operations: readonly Operation[]): Json => {
  const [sockets, calls] = partition(operations, ({ method }) => method === 'WS')
  const components = new Components()
  const schemes: SecuritySchemes = new Map()
  const paths: { [path: string]: { [method: string]: Json } } = {}
  for (const call of calls) {
    paths[call.path] ??= {}
    const item = paths[call.path]
    if (item) item[call.method.toLowerCase()] = describeOperation(call, components, schemes)
  }
  const webSockets = sockets.map(each => socketOf(each, schemes))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tollgate',
      version: host.config.hash,
      description:
        'The routes of this gateway. `x-price` of an operation is what a call costs, `by: model` refers to `x-prices`; amounts without a currency are in `x-currency`.',
    },
    servers: [{ url: host.url('') }],
    tags: [...new Set(operations.map(({ path }) => tagOf(path)))].map(name => ({ name })),
    paths,
    components: {
      schemas: components.schemas,
      headers: {
        'x-request-id': {
          description: 'The id of the request, for support and for its receipt',
          schema: { type: 'string' },
        },
      },
      securitySchemes: Object.fromEntries(schemes),
    },
    'x-websockets': webSockets,
    'x-currency': configuredCurrency(host).name,
    'x-prices': pricesOf(host),
  }
}

const socketOf = ({ id, path, about }: Operation, schemes: SecuritySchemes): Json => ({
  operationId: id,
  path,
  summary: about.summary ?? id,
  parameters: parametersOf(path, about),
  security: securityOf(about, schemes),
  'x-price': about.price ?? { free: true },
})

/** The price of each model as routes.yaml has it. A model without one is not listed. */
const pricesOf = (host: HostBase): Json =>
  Object.fromEntries(
    catalogueOf(host).all.flatMap(({ name, options: { free, price } }): [string, Json][] => {
      const model = readablePattern(name)
      if (free === true) return [[model, { free: true }]]
      return price === undefined ? [] : [[model, price]]
    }),
  )

const partition = <T>(
  items: readonly T[],
  matches: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] => [
  items.filter(matches),
  items.filter(item => !matches(item)),
]
