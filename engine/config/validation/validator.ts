/** Validator of routes.yaml. Two formats collect file names and passwords during validation. */
import type { ErrorObject } from 'ajv'
import { assembleSchema, type Plugins } from '../schema.ts'
import { splitSchema } from './split-schema.ts'
import { compileSchema } from './validator-cache.ts'

export interface Validation {
  readonly errors: readonly ErrorObject[]
  /** Values with `format: file`. */
  readonly fileNames: ReadonlySet<string>
  /** Values with `format: password`. */
  readonly secrets: ReadonlySet<string>
}
export interface Validator {
  validate(document: object): Validation
  /** Messages of ajv by plugin with an invalid schema. The keys of these plugins are accepted. */
  readonly schemaErrors: ReadonlyMap<string, string>
}

/** `folder`: cache of compiled schemas. */
export const createValidator = (
  plugins: Plugins,
  brokenNames: readonly string[],
  folder: string,
): Validator => {
  let names = createNames()
  const formats = {
    file: (name: string) => names.fileNames.add(name).has(name),
    password: (value: string) => names.secrets.add(value).has(value),
  }
  try {
    const schema = splitSchema(assembleSchema(plugins, brokenNames))
    const isValid = compileSchema(schema, formats, folder)
    const validate = (document: object): Validation => {
      names = createNames()
      return { errors: isValid(document) ? [] : (isValid.errors ?? []), ...names }
    }
    return { validate, schemaErrors: new Map() }
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
const createNames = () => ({ fileNames: new Set<string>(), secrets: new Set<string>() })
