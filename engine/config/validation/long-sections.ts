/** Validates long sections once: one may have ten thousand entries, and seldom changes. */
import { isFields } from '../../kit.ts'
import type { Document, Json } from '../../plugin.ts'
import type { Names, Validator } from './validator.ts'

/** Keys of a section from which on its result is kept. */
const LONG = 500

type LeaveOut = (document: Document, version: string, validator: Validator) => Document

/** Returns a function that leaves out the long sections that are valid, and adds the names in them
 *  to those of the validator. `version`: of the schema. */
export const createLongSections = (): LeaveOut => {
  /** By the value of the section, which is frozen. */
  const known = new WeakMap<object, { readonly version: string; readonly names: Names }>()
  const namesIn = (
    section: string,
    value: object & Json,
    version: string,
    { validateSection }: Validator,
  ): Names | undefined => {
    const last = known.get(value)
    if (last?.version === version) return last.names
    const names = validateSection(section, value)
    if (names) known.set(value, { version, names })
    return names
  }
  return (document, version, validator) =>
    Object.fromEntries(
      Object.entries(document).filter(([section, value]) => {
        if (!isFields(value) || !Object.isFrozen(value)) return true
        if (Object.keys(value).length < LONG) return true
        const names = namesIn(section, value, version, validator)
        for (const name of names?.fileNames ?? []) validator.fileNames.add(name)
        for (const secret of names?.secrets ?? []) validator.secrets.add(secret)
        return !names
      }),
    )
}
