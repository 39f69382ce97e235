/** Validator of routes.yaml. Two formats collect file names and passwords during validation. */
import type { ValidateFunction } from 'ajv'
import { assembleSchema, type Plugins } from '../schema.ts'
import { splitSchema } from './split-schema.ts'
import { compileSchema } from './validator-cache.ts'

export interface Validator {
  readonly validate: ValidateFunction
  /** Values with `format: file`, filled by `validate`. */
  readonly fileNames: ReadonlySet<string>
  /** Values with `format: password`, filled by `validate`. */
  readonly secrets: ReadonlySet<string>
  /** Messages of ajv by plugin with an invalid schema. The keys of these plugins are accepted. */
  readonly schemaErrors: ReadonlyMap<string, string>
}

/** `folder`: cache of compiled schemas. */
export const createValidator = (
  plugins: Plugins,
  brokenNames: readonly string[],
  folder: string,
): Validator => {
  const [fileNames, secrets] = [new Set<string>(), new Set<string>()]
  const formats = {
    file: (name: string) => fileNames.add(name).has(name),
    password: (value: string) => secrets.add(value).has(value),
  }
  try {
    const schema = splitSchema(assembleSchema(plugins, brokenNames))
    const validate = compileSchema(schema, formats, folder)
    return { validate, fileNames: fileNames, secrets, schemaErrors: new Map() }
  } catch (error) {
    // Compiles each schema alone, to find the invalid one.
    const schemaErrors = new Map<string, string>()
    for (const [name, plugin] of plugins) {
      const { schema, sections = {}, upstream = {}, auth } = plugin
      const schemas = { schema, ...sections, ...upstream, ...(auth && { auth: auth.schema }) }
      for (const [what, each] of Object.entries(schemas)) {
        try {
          compileSchema(each, formats)
        } catch (cause) {
          // ajv lists every keyword that would be valid; the first part is enough.
          const [message = ''] = (cause as Error).message.split(', data/')
          schemaErrors.set(name, message.replace('schema is invalid: data', what))
        }
      }
    }
    if (schemaErrors.size === 0) throw error
    const valid = new Map([...plugins].filter(([name]) => !schemaErrors.has(name)))
    return {
      ...createValidator(valid, [...brokenNames, ...schemaErrors.keys()], folder),
      schemaErrors: schemaErrors,
    }
  }
}
