/** The sections of routes.yaml that the engine owns, beside `settings:`. */
import { list, map, object, required, text } from '../shape.ts'
import { PRICE_EXAMPLE, PRICE_LIST } from './price-book.ts'
import { ROUTE } from './route.ts'
import { PRESET, UPSTREAM } from './upstream.ts'

const NAMES = { propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' } }
const REGION = { region: 'the region, such as eu-west-1' }

export const PLUGIN_NAME = text('A plugin.')

export const FILE = object(
  'A gateway: its addresses, upstreams, routes and pipeline. Plugins add sections and keys.',
  {
    include: list(
      'Files with further entries of the sections below; * and ** are allowed.',
      text('A file or a pattern.', { examples: ['upstreams/*.yaml'] }),
      { examples: [['upstreams/*.yaml']] },
    ),
    pipeline: list('Order of the plugins, the same for all routes.', PLUGIN_NAME, {
      uniqueItems: true,
      examples: [['auth', 'limit']],
    }),
    upstreams: map('Upstreams by name: where requests can be sent.', UPSTREAM, {
      ...NAMES,
      examples: [{ main: { url: 'https://api.example.com/v1', key: '${API_KEY}' } }],
    }),
    presets: map('Presets by name: keys that upstreams take with `preset: NAME`.', PRESET, {
      ...NAMES,
      examples: [{ example: { needs: REGION, url: 'https://{region}.api.example.com/v1' } }],
    }),
    prices: map(
      'Public list prices of providers (models/prices.yaml), which imports and `tollgate prices diff` read. Calls cost what `models` say.',
      PRICE_LIST,
      { examples: [{ example: PRICE_EXAMPLE }] },
    ),
    routes: required(
      list('Endpoints for customers.', ROUTE, {
        examples: [[{ path: 'GET /v1/items/{id}', upstream: 'main' }]],
      }),
    ),
  },
  { $schema: 'http://json-schema.org/draft-07/schema#', title: 'routes.yaml' },
)
