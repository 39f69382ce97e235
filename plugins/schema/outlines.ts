/** The parts of a schema that can be checked by an outline of a body, whose long texts are cut. */
import { hasCutText, isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'

/** A keyword beside those that read a text in full: an outline fails it where the text is cut. */
const WHOLE = 'whole'
/** Characters that no outline cuts. */
const UNCUT = 48

const isLong = (value: Json): boolean => typeof value === 'string' && value.length > UNCUT
const READERS: Readonly<Record<string, (value: Json) => boolean>> = {
  maxLength: value => typeof value === 'number',
  minLength: value => typeof value === 'number' && value > UNCUT,
  pattern: value => typeof value === 'string',
  format: value => typeof value === 'string',
  const: isLong,
  enum: value => Array.isArray(value) && value.some(isLong),
}
const readsText = (schema: Json): boolean =>
  isFields(schema) && Object.entries(READERS).some(([name, reads]) => reads(schema[name] ?? null))

/** Keywords whose schemas must not become stricter: what they accept is refused, or counted. */
const NEGATIONS: ReadonlySet<string> = new Set(['not', 'if', 'oneOf', 'contains'])
/** Members that hold values. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

const someIn = (schema: Json, test: (value: Json) => boolean): boolean =>
  test(schema) ||
  (typeof schema === 'object' &&
    schema !== null &&
    Object.entries(schema).some(([name, each]) => !VALUES.has(name) && someIn(each, test)))
const isReference = (value: Json): boolean => isFields(value) && typeof value.$ref === 'string'
const isNegated = (value: Json): boolean =>
  isFields(value) &&
  Object.entries(value).some(
    ([name, each]) =>
      NEGATIONS.has(name) && someIn(each, inner => readsText(inner) || isReference(inner)),
  )

/** The schema with `whole` beside each keyword that reads texts in full: a body whose outline it
 *  accepts is valid. Undefined: an outline tells nothing. */
export const outlineSchema = (schema: Json): Json | undefined => {
  if (!someIn(schema, readsText)) return schema
  return someIn(schema, isNegated) ? undefined : withWhole(schema)
}
const withWhole = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(withWhole)
  if (!isFields(schema)) return schema
  const members = Object.entries(schema).map(([name, each]) => [
    name,
    VALUES.has(name) ? each : withWhole(each),
  ])
  return { ...Object.fromEntries(members), ...(readsText(schema) && { [WHOLE]: true }) }
}
/** `this` while an outline is validated: only there a text may be cut. */
export const IN_OUTLINE: Context = { isOutline: true }
/** Compared by its member: bundles of plugins share compilers, and have copies of this module. */
interface Context {
  readonly isOutline: boolean
}
/** The keyword for ajv. */
export const wholeKeyword = {
  keyword: WHOLE,
  type: 'string',
  schemaType: 'boolean',
  validate(this: Context | undefined, _: boolean, text: string) {
    return !this?.isOutline || !hasCutText(text)
  },
} as const
