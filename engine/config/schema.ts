/** The schema of routes.yaml: keys of the engine (sections/, settings.ts) and of all plugins. */
import type { Plugin } from '../plugin.ts'
import { formatsIn } from './compile/snapshot-members.ts'
import { shareDefinitions } from './editor/definitions.ts'
import { orderKeywords } from './editor/keyword-order.ts'
import { editorSchema } from './editor/variables.ts'
import { FILE, PLUGIN_NAME } from './sections/file.ts'
import { ROUTE } from './sections/route.ts'
import { AUTH, KEY, PRESET, UPSTREAM } from './sections/upstream.ts'
import { SETTINGS } from './settings.ts'
import type { Shape } from './shape.ts'

export type Plugins = ReadonlyMap<string, Plugin>
const SECTION_SCHEMAS = FILE.schema.properties ?? {}
/** Names that a plugin cannot have, since they are keys of routes. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  Object.keys(ROUTE.schema.properties ?? {}),
)
/** Sections that no plugin can own. */
export const SECTIONS: readonly string[] = ['settings', ...Object.keys(SECTION_SCHEMAS)]

/** `brokenNames`: plugins that could not be loaded. Their keys are accepted, since their problems
 *  are reported already. */
export const assembleSchema = (plugins: Plugins, brokenNames: readonly string[] = []): object => {
  const sortedPlugins = [...plugins].sort(([a], [b]) => (a < b ? -1 : 1))
  const names = [...plugins.keys(), ...brokenNames].sort()
  const additionalProperties = brokenNames.length > 0
  const upstream = {
    ...UPSTREAM.schema,
    additionalProperties,
    properties: Object.assign(
      {
        ...UPSTREAM.schema.properties,
        auth: authSchema(sortedPlugins),
        key: keySchema(sortedPlugins),
      },
      ...sortedPlugins.map(([, plugin]) => plugin.upstream),
    ),
  }
  const preset = {
    ...PRESET.schema,
    additionalProperties,
    properties: { ...upstream.properties, ...PRESET.schema.properties },
  }
  const settingsSchema = {
    ...SETTINGS.schema,
    additionalProperties,
    properties: Object.assign(
      { ...SETTINGS.schema.properties },
      ...sortedPlugins.map(([, plugin]) => plugin.settings),
    ),
  }
  const route = {
    ...ROUTE.schema,
    properties: {
      ...ROUTE.schema.properties,
      ...Object.fromEntries(
        sortedPlugins.map(([name, { schema }]) => [name, optionsOf(name, schema)]),
      ),
      ...Object.fromEntries(brokenNames.map(name => [name, { description: 'Not loaded.' }])),
    },
  }
  const { pipeline, upstreams, presets, routes } = SECTION_SCHEMAS
  const items = { ...PLUGIN_NAME.schema, ...(names.length > 0 && { enum: names }) }
  const schema = {
    ...FILE.schema,
    additionalProperties,
    properties: Object.assign(
      { settings: settingsSchema },
      SECTION_SCHEMAS,
      { pipeline: { ...pipeline, items } },
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
  const [word, places] = AUTH.schema.anyOf as readonly Shape<never>['schema'][]
  const methods = plugins.flatMap(([name, plugin]) =>
    plugin.auth ? [[name, plugin.auth.schema] as const] : [],
  )
  const properties = { ...Object.fromEntries(methods), ...places?.properties }
  return { ...AUTH.schema, anyOf: [word, { ...places, properties }] }
}

/** `key:` of an upstream; plugins that limit keys add members to an entry. */
const keySchema = (plugins: readonly (readonly [string, Plugin])[]): object => {
  const items = KEY.schema.items as Shape<never>['schema']
  const [secret, entry] = items.anyOf as readonly Shape<never>['schema'][]
  const members = plugins.map(([, { keys }]) => keys?.members)
  const properties = Object.assign({}, entry?.properties, ...members)
  return { ...KEY.schema, items: { ...items, anyOf: [secret, { ...entry, properties }] } }
}

/** As the loader checks a file; repeated parts are written once. */
export const schemaWithDefinitions = (plugins: Plugins): object =>
  shareDefinitions(assembleSchema(plugins))

/** The text of schemas/routes.json. It depends only on the plugins, not on their order. */
export const schemaText = (plugins: Plugins): string => {
  const schema = orderKeywords(editorSchema(assembleSchema(plugins))) as object
  return `${JSON.stringify(shareDefinitions(schema), null, 2)}\n`
}

/** A schema with internal references needs its own root id. */
const optionsOf = (name: string, schema: object): object => ({
  ...(JSON.stringify(schema).includes('"$ref":"#') && { $id: `plugin:${name}` }),
  ...schema,
})
