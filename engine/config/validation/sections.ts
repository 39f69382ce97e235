/** Validates sections once: most of a document is the same in each version. */
import type { Document, Json } from '../../plugin.ts'
import type { Validation, Validator } from './validator.ts'

/** `version`: of the schema. */
type Validate = (document: Document, version: string, validator: Validator) => Validation

/** Returns a function that validates a document without the sections that it knows to be valid. */
export const createSectionValidator = (): Validate => {
  /** Results without errors by the value of the section, which is frozen. */
  const known = new WeakMap<object, { readonly version: string; readonly result: Validation }>()
  const resultOf = (
    section: string,
    value: Json | undefined,
    version: string,
    { validate }: Validator,
  ): Validation | undefined => {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return undefined
    const last = known.get(value)
    if (last?.version === version) return last.result
    const result = validate({ ...EMPTY, [section]: value })
    if (result.errors.length > 0) return undefined
    known.set(value, { version, result })
    return result
  }
  return (document, version, validator) => {
    const results = Object.entries(document).map(
      ([section, value]) => [section, value, resultOf(section, value, version, validator)] as const,
    )
    const rest = results.flatMap(([section, value, result]) => (result ? [] : [[section, value]]))
    const isRouted = document.routes !== undefined
    const { errors, ...names } = validator.validate({
      ...(isRouted && EMPTY),
      ...Object.fromEntries(rest),
    })
    const all = [names, ...results.flatMap(([, , result]) => result ?? [])]
    return {
      errors,
      fileNames: new Set(all.flatMap(({ fileNames }) => [...fileNames])),
      secrets: new Set(all.flatMap(({ secrets }) => [...secrets])),
    }
  }
}
/** Each document must have `routes:`; here it is empty, so that another section is judged alone. */
const EMPTY = { routes: [] } as const
