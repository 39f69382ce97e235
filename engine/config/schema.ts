/** The one schema of routes.yaml: the engine's keys and what every plugin adds to them. */
import type { Plugin } from '../plugin.ts'
import { KEYS } from './keys.ts'

type Schema = { readonly [keyword: string]: unknown }
export type Plugins = ReadonlyMap<string, Plugin>
/** Names that a plugin cannot have, since the engine's own keys stand where its options would. */
export const TAKEN: ReadonlySet<string> = new Set(Object.keys(KEYS.route))
/** Sections that no plugin can own. */
export const SECTIONS = ['settings', 'include', 'pipeline', 'upstreams', 'routes'] as const

/** `broken`: plugins that could not be loaded; their keys are let through, their faults are reported already. */
export const assemble = (plugins: Plugins, broken: readonly string[] = []): Schema => {
  const sorted = [...plugins].sort(([a], [b]) => (a < b ? -1 : 1))
  const names = [...sorted.map(([name]) => name), ...broken].sort()
  const sections = sorted.flatMap(([, { sections }]) => Object.entries(sections ?? {}))
  const additions = sorted.flatMap(([, { upstream }]) => Object.entries(upstream ?? {}))
  const options = sorted.map(([name, { schema }]) => [name, optionsOf(name, schema)] as const)
  const open = broken.map(name => [name, { description: 'Not loaded.' }] as const)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'routes.yaml',
    description: 'A gateway: where it listens, what it forwards, and what happens on the way.',
    type: 'object',
    required: ['routes'],
    additionalProperties: broken.length > 0,
    properties: {
      settings: KEYS.settings,
      include: KEYS.include,
      pipeline: {
        description: 'The order of plugins, written once for all routes.',
        type: 'array',
        uniqueItems: true,
        items: {
          type: 'string',
          ...(names.length > 0 && { enum: names, examples: names.slice(0, 1) }),
          description: 'A plugin.',
        },
        examples: [names],
      },
      upstreams: {
        description: 'Where requests can be sent, each under a name.',
        type: 'object',
        propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
        additionalProperties: {
          description: 'One upstream: its addresses, keys and patience.',
          type: 'object',
          required: ['url'],
          additionalProperties: broken.length > 0,
          properties: { ...KEYS.upstream, ...Object.fromEntries(additions) },
        },
        examples: [{ main: { url: 'https://api.example.com/v1', key: '${API_KEY}' } }],
      },
      routes: {
        description: 'What customers can call.',
        type: 'array',
        items: {
          description: 'One route. Options of a plugin stand under its name.',
          type: 'object',
          required: ['path'],
          additionalProperties: false,
          properties: { ...KEYS.route, ...Object.fromEntries([...options, ...open]) },
        },
        examples: [[{ path: 'GET /v1/items/{id}', upstream: 'main' }]],
      },
      ...Object.fromEntries(sections),
    },
  }
}

/** The text of schemas/routes.json: the same for the same plugins, byte for byte. */
export const schemaText = (plugins: Plugins): string =>
  `${JSON.stringify(assemble(plugins), null, 2)}\n`

/** A schema that points into itself must keep its own root; the others read better without a name. */
const optionsOf = (name: string, schema: object): object => ({
  ...(JSON.stringify(schema).includes('"$ref":"#') && { $id: `plugin:${name}` }),
  ...schema,
})
