/** ajv, as the configuration uses it: what is refused, and what two formats collect on the way. */
import { Ajv, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import { assemble, type Plugins } from './schema.ts'

export interface Validator {
  readonly validate: ValidateFunction
  /** Every value at a place with `format: file`, filled by `validate`. */
  readonly named: ReadonlySet<string>
  /** Every value at a place with `format: password`. */
  readonly secrets: ReadonlySet<string>
  /** Plugins with a schema that ajv refuses, and its words. They are judged as `broken`. */
  readonly refused: ReadonlyMap<string, string>
}

export const validator = (plugins: Plugins, broken: readonly string[]): Validator => {
  const [named, secrets] = [new Set<string>(), new Set<string>()]
  const compile = (schema: object) => createAjv(named, secrets).compile(schema)
  try {
    return { validate: compile(assemble(plugins, broken)), named, secrets, refused: new Map() }
  } catch (thrown) {
    // One bad schema spoils the whole. Alone it fails too, and so is found.
    const refused = new Map<string, string>()
    for (const [name, plugin] of plugins) {
      const { schema, sections = {}, upstream = {} } = plugin
      for (const [what, each] of Object.entries({ schema, ...sections, ...upstream })) {
        try {
          compile(each)
        } catch (own) {
          // ajv lists every keyword that would have been right; the first says enough.
          const [words = ''] = (own as Error).message.split(', data/')
          refused.set(name, words.replace('schema is invalid: data', what))
        }
      }
    }
    if (refused.size === 0) throw thrown
    const fit = new Map([...plugins].filter(([name]) => !refused.has(name)))
    return { ...validator(fit, [...broken, ...refused.keys()]), refused }
  }
}

const createAjv = (named: Set<string>, secrets: Set<string>): Ajv => {
  const ajv = new Ajv({
    // An operator's own input is told all its faults at once.
    allErrors: true,
    verbose: true,
    strictTypes: false,
    strictTuples: false,
    // It judges one text: what it takes to be made counts, not what it takes to run.
    code: { optimize: false },
  })
  ajvFormats.default(ajv)
  ajv.addFormat('file', name => named.add(name).has(name))
  ajv.addFormat('password', value => secrets.add(value).has(value))
  return ajv
}
