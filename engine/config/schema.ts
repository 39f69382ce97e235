/** The schema of routes.yaml: the keys of the engine (schemas/engine.json, settings.ts)
 *  and of all plugins. */
import engine from '../../schemas/engine.json' with { type: 'json' }
import type { Plugin } from '../plugin.ts'
import { formatsIn } from './compile/snapshot-members.ts'
import { orderKeywords } from './editor/keyword-order.ts'
import { editorSchema } from './editor/variables.ts'
import { SETTINGS } from './settings.ts'

export type Plugins = ReadonlyMap<string, Plugin>
const { upstreams, presets, routes } = engine.properties
/** Names that a plugin cannot have, since they are keys of routes. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(Object.keys(routes.items.properties))
/** Sections that no plugin can own. */
export const SECTIONS: readonly string[] = ['settings', ...Object.keys(engine.properties)]

/** `brokenNames`: plugins that could not be loaded. Their keys are accepted, since their problems
 *  are reported already. */
export const assembleSchema = (plugins: Plugins, brokenNames: readonly string[] = []): object => {
  const sortedPlugins = [...plugins].sort(([a], [b]) => (a < b ? -1 : 1))
  const names = [...plugins.keys(), ...brokenNames].sort()
  const additionalProperties = brokenNames.length > 0
  const upstream = {
    ...upstreams.additionalProperties,
    additionalProperties,
    properties: Object.assign(
      { ...upstreams.additionalProperties.properties, auth: authSchema(sortedPlugins) },
      ...sortedPlugins.map(([, plugin]) => plugin.upstream),
    ),
  }
  const preset = {
    ...presets.additionalProperties,
    additionalProperties,
    properties: { ...upstream.properties, ...presets.additionalProperties.properties },
  }
  const settingsSchema = {
    ...SETTINGS.schema,
    additionalProperties,
    properties: Object.assign(
      { ...(SETTINGS.schema.properties as object) },
      ...sortedPlugins.map(([, plugin]) => plugin.settings),
    ),
  }
  const route = {
    ...routes.items,
    properties: {
      ...routes.items.properties,
      ...Object.fromEntries(
        sortedPlugins.map(([name, { schema }]) => [name, optionsOf(name, schema)]),
      ),
      ...Object.fromEntries(brokenNames.map(name => [name, { description: 'Not loaded.' }])),
    },
  }
  const order = { ...engine.properties.pipeline.items, ...(names.length > 0 && { enum: names }) }
  const schema = {
    ...engine,
    additionalProperties,
    properties: Object.assign(
      { settings: settingsSchema },
      engine.properties,
      { pipeline: { ...engine.properties.pipeline, items: order } },
      { upstreams: { ...upstreams, additionalProperties: upstream } },
      { presets: { ...presets, additionalProperties: preset } },
      { routes: { ...routes, items: route } },
      ...sortedPlugins.map(([, plugin]) => plugin.sections),
    ),
  }
  return withFormats(schema, Object.keys(formatsIn(plugins)))
}

/** Adds the names of formats that plugins bring to the enums that list formats. */
const withFormats = (schema: object, names: readonly string[]): object =>
  names.length === 0
    ? schema
    : JSON.parse(JSON.stringify(schema), (_, value) =>
        value?.$comment === 'formats' && Array.isArray(value.enum)
          ? { ...value, enum: [...new Set([...value.enum, ...names])] }
          : value,
      )

/** `auth:` of an upstream: the ways to send its key, and the plugins that sign. */
const authSchema = (plugins: readonly (readonly [string, Plugin])[]): object => {
  const { auth } = upstreams.additionalProperties.properties
  const [word, map] = auth.anyOf
  const methods = plugins.flatMap(([name, plugin]) =>
    plugin.auth ? [[name, plugin.auth.schema] as const] : [],
  )
  const properties = { ...Object.fromEntries(methods), ...map?.properties }
  return { ...auth, anyOf: [word, { ...map, properties }] }
}

/** The text of schemas/routes.json. It depends only on the plugins, not on their order. */
export const schemaText = (plugins: Plugins): string =>
  `${JSON.stringify(orderKeywords(editorSchema(assembleSchema(plugins))), null, 2)}\n`

/** A schema with internal references needs its own root id. */
const optionsOf = (name: string, schema: object): object => ({
  ...(JSON.stringify(schema).includes('"$ref":"#') && { $id: `plugin:${name}` }),
  ...schema,
})
