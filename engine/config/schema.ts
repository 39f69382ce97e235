/** The one schema of routes.yaml: the engine's keys (schemas/engine.json) and what every plugin adds to them. */
import engine from '../../schemas/engine.json' with { type: 'json' }
import type { Plugin } from '../plugin.ts'

export type Plugins = ReadonlyMap<string, Plugin>
const { settings, upstreams, routes } = engine.properties
/** Names that a plugin cannot have, since the engine's own keys stand where its options would. */
export const TAKEN: ReadonlySet<string> = new Set(Object.keys(routes.items.properties))
/** Sections that no plugin can own. */
export const SECTIONS: readonly string[] = Object.keys(engine.properties)

/** `broken`: plugins that could not be loaded; their keys are let through, their faults are reported already. */
export const assemble = (plugins: Plugins, broken: readonly string[] = []): object => {
  const sorted = [...plugins].sort(([a], [b]) => (a < b ? -1 : 1))
  const names = [...plugins.keys(), ...broken].sort()
  const additionalProperties = broken.length > 0
  const upstream = {
    ...upstreams.additionalProperties,
    additionalProperties,
    properties: Object.assign(
      { ...upstreams.additionalProperties.properties },
      ...sorted.map(([, plugin]) => plugin.upstream),
    ),
  }
  const ours = {
    ...settings,
    additionalProperties,
    properties: Object.assign(
      { ...settings.properties },
      ...sorted.map(([, plugin]) => plugin.settings),
    ),
  }
  const route = {
    ...routes.items,
    properties: {
      ...routes.items.properties,
      ...Object.fromEntries(sorted.map(([name, { schema }]) => [name, optionsOf(name, schema)])),
      ...Object.fromEntries(broken.map(name => [name, { description: 'Not loaded.' }])),
    },
  }
  const order = { ...engine.properties.pipeline.items, ...(names.length > 0 && { enum: names }) }
  return {
    ...engine,
    additionalProperties,
    properties: Object.assign(
      { ...engine.properties },
      { settings: ours },
      { pipeline: { ...engine.properties.pipeline, items: order } },
      { upstreams: { ...upstreams, additionalProperties: upstream } },
      { routes: { ...routes, items: route } },
      ...sorted.map(([, plugin]) => plugin.sections),
    ),
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
