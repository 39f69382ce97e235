/** Validator of routes.yaml. Two formats collect file names and passwords during validation. */
import type { ValidateFunction } from 'ajv'
import { assembleSchema, type Plugins } from './schema.ts'
import { compileSchema } from './validator-cache.ts'

export interface Validator {
  readonly validate: ValidateFunction
  /** Every value at a place with `format: file`, filled by `validate`. */
  readonly fileNames: ReadonlySet<string>
  /** Every value at a place with `format: password`. */
  readonly secrets: ReadonlySet<string>
  /** Messages of ajv for plugins with an invalid schema; they are handled as `broken`. */
  readonly schemaErrors: ReadonlyMap<string, string>
}

/** `folder`: cache of compiled schemas. */
export const createValidator = (
  plugins: Plugins,
  broken: readonly string[],
  folder: string,
): Validator => {
  const [named, secrets] = [new Set<string>(), new Set<string>()]
  const formats = {
    file: (name: string) => named.add(name).has(name),
    password: (value: string) => secrets.add(value).has(value),
  }
  try {
    const validate = compileSchema(assembleSchema(plugins, broken), formats, folder)
    return { validate, fileNames: named, secrets, schemaErrors: new Map() }
  } catch (thrown) {
    // One invalid schema makes the whole fail; compile each alone to find it.
    const refused = new Map<string, string>()
    for (const [name, plugin] of plugins) {
      const { schema, sections = {}, upstream = {} } = plugin
      for (const [what, each] of Object.entries({ schema, ...sections, ...upstream })) {
        try {
          compileSchema(each, formats)
        } catch (own) {
          // ajv lists every keyword that would be valid; the first part is enough.
          const [words = ''] = (own as Error).message.split(', data/')
          refused.set(name, words.replace('schema is invalid: data', what))
        }
      }
    }
    if (refused.size === 0) throw thrown
    const valid = new Map([...plugins].filter(([name]) => !refused.has(name)))
    return {
      ...createValidator(valid, [...broken, ...refused.keys()], folder),
      schemaErrors: refused,
    }
  }
}
