/** Validator of routes.yaml. Two formats collect file names and passwords during validation. */
import type { ValidateFunction } from 'ajv'
import type { Json } from '../../plugin.ts'
import { assembleSchema, type Plugins } from '../schema.ts'
import { splitSchema } from './split-schema.ts'
import { compileSchema } from './validator-cache.ts'

/** What the formats collect, filled by `validate`. */
export interface Names {
  /** Values with `format: file`. */
  readonly fileNames: Set<string>
  /** Values with `format: password`. */
  readonly secrets: Set<string>
}
export interface Validator extends Names {
  readonly validate: ValidateFunction
  /** The names in a section, beside `fileNames` and `secrets`; undefined: it has errors. */
  validateSection(name: string, value: Json): Names | undefined
  /** Messages of ajv by plugin with an invalid schema. The keys of these plugins are accepted. */
  readonly schemaErrors: ReadonlyMap<string, string>
}

/** `folder`: cache of compiled schemas. */
export const createValidator = (
  plugins: Plugins,
  brokenNames: readonly string[],
  folder: string,
): Validator => {
  const all = createNames()
  let names = all
  const formats = {
    file: (name: string) => names.fileNames.add(name).has(name),
    password: (value: string) => names.secrets.add(value).has(value),
  }
  try {
    const schema = splitSchema(assembleSchema(plugins, brokenNames))
    const validate = compileSchema(schema, formats, folder)
    const validateSection = (name: string, value: Json): Names | undefined => {
      names = createNames()
      const isValid = validate({ routes: [], [name]: value })
      const result = isValid ? names : undefined
      names = all
      return result
    }
    return { validate, validateSection, ...all, schemaErrors: new Map() }
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
const createNames = (): Names => ({ fileNames: new Set(), secrets: new Set() })
