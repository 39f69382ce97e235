/** ajv, as the configuration uses it: what is refused, and what two formats collect on the way. */
import type { ValidateFunction } from 'ajv'
import { assemble, type Plugins } from './schema.ts'
import { compileSchema } from './validator-cache.ts'

export interface Validator {
  readonly validate: ValidateFunction
  /** Every value at a place with `format: file`, filled by `validate`. */
  readonly named: ReadonlySet<string>
  /** Every value at a place with `format: password`. */
  readonly secrets: ReadonlySet<string>
  /** Plugins with a schema that ajv refuses, and its words. They are judged as `broken`. */
  readonly refused: ReadonlyMap<string, string>
}

/** `folder`: where what was compiled is kept. */
export const validator = (
  plugins: Plugins,
  broken: readonly string[],
  folder: string,
): Validator => {
  const [named, secrets] = [new Set<string>(), new Set<string>()]
  const collecting = {
    file: (name: string) => named.add(name).has(name),
    password: (value: string) => secrets.add(value).has(value),
  }
  try {
    const validate = compileSchema(assemble(plugins, broken), collecting, folder)
    return { validate, named, secrets, refused: new Map() }
  } catch (thrown) {
    // One bad schema spoils the whole. Alone it fails too, and so is found.
    const refused = new Map<string, string>()
    for (const [name, plugin] of plugins) {
      const { schema, sections = {}, upstream = {} } = plugin
      for (const [what, each] of Object.entries({ schema, ...sections, ...upstream })) {
        try {
          compileSchema(each, collecting)
        } catch (own) {
          // ajv lists every keyword that would have been right; the first says enough.
          const [words = ''] = (own as Error).message.split(', data/')
          refused.set(name, words.replace('schema is invalid: data', what))
        }
      }
    }
    if (refused.size === 0) throw thrown
    const fit = new Map([...plugins].filter(([name]) => !refused.has(name)))
    return { ...validator(fit, [...broken, ...refused.keys()], folder), refused }
  }
}
