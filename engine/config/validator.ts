/** ajv, as the configuration uses it: what is refused, and what two formats collect on the way. */
import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import type { Plugin } from '../plugin.ts'
import { assemble, type Plugins } from './schema.ts'

export interface Validator {
  readonly validate: ValidateFunction
  /** Every value at a place with `format: file`, filled by `validate`. */
  readonly named: ReadonlySet<string>
  /** Every value at a place with `format: password`. */
  readonly secrets: ReadonlySet<string>
}

/** Throws where ajv refuses a schema: `refusedSchemas` then says whose. */
export const validator = (plugins: Plugins, broken: readonly string[]): Validator => {
  const named = new Set<string>()
  const secrets = new Set<string>()
  const ajv = createAjv({ file: named, password: secrets })
  return { validate: ajv.compile(assemble(plugins, broken)), named, secrets }
}

/** What is wrong with the schemas of each plugin that has bad ones. */
export const refusedSchemas = (plugins: Plugins): ReadonlyMap<string, string> => {
  const refused = new Map<string, string>()
  for (const [name, plugin] of plugins)
    for (const [what, schema] of schemasOf(plugin)) {
      try {
        createAjv().compile(schema)
      } catch (thrown) {
        refused.set(name, `${what}: ${thrown instanceof Error ? thrown.message : thrown}`)
      }
    }
  return refused
}
const schemasOf = ({
  schema,
  sections,
  upstream,
}: Plugin): readonly (readonly [string, object])[] => [
  ['schema', schema],
  ...Object.entries(sections ?? {}).map(([name, each]) => [`sections.${name}`, each] as const),
  ...Object.entries(upstream ?? {}).map(([name, each]) => [`upstream.${name}`, each] as const),
]

/** An operator's own input is told all its faults at once. Patterns are the plugins', who are trusted. */
const createAjv = (collect: Readonly<Record<string, Set<string>>> = {}): Ajv => {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    allowUnionTypes: true,
  })
  ajvFormats.default(ajv)
  for (const format of ['file', 'password'])
    ajv.addFormat(format, value => {
      collect[format]?.add(value)
      return true
    })
  return ajv
}
