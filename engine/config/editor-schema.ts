/** The schema of routes.yaml for editors, which see the text before variables are expanded: where a
 *  value is checked, a text with a variable is accepted too. */

type Schema = { readonly [keyword: string]: unknown }

const VARIABLE = '\\$\\{'
/** Keywords whose schemas apply to a part of the value, or to the value as well. */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions']
const LISTS = ['anyOf', 'allOf', 'prefixItems']
const SINGLES = ['items', 'additionalProperties']
/** Keywords that describe a key; all others check the value. */
const NOTES = new Set(['title', 'description', 'examples', 'default', '$comment', 'deprecated'])
const CHECKED_TYPES = new Set(['number', 'integer', 'boolean'])
const CHECKS = ['enum', 'const', 'format', 'minLength', 'maxLength', 'oneOf']

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

/** `required` of the whole file is left out: an included file has only some of the sections. */
export const editorSchema = (schema: object): object => {
  const { required: _, ...rest } = withVariableForms(schema) as Schema
  return rest
}

const withVariableForms = (schema: unknown): unknown => {
  if (!isSchema(schema) || Array.isArray(schema)) return schema
  const inner: Record<string, unknown> = { ...schema }
  for (const key of MAPS)
    if (isSchema(inner[key]))
      inner[key] = Object.fromEntries(
        Object.entries(inner[key]).map(([name, each]) => [name, withVariableForms(each)]),
      )
  for (const key of LISTS)
    if (Array.isArray(inner[key])) inner[key] = inner[key].map(withVariableForms)
  for (const key of SINGLES) if (key in inner) inner[key] = withVariableForms(inner[key])
  return acceptVariables(inner)
}

const acceptVariables = (schema: Schema): Schema => {
  const types = [schema.type].flat()
  const isChecked =
    types.some(type => CHECKED_TYPES.has(String(type))) || CHECKS.some(key => key in schema)
  if (isChecked) {
    const notes = Object.entries(schema).filter(([key]) => NOTES.has(key))
    const checks = Object.entries(schema).filter(([key]) => !NOTES.has(key))
    return {
      ...Object.fromEntries(notes),
      anyOf: [Object.fromEntries(checks), { type: 'string', pattern: VARIABLE }],
    }
  }
  const { pattern, examples } = schema
  if (typeof pattern !== 'string') return schema
  const [example] = Array.isArray(examples) ? examples : []
  return {
    ...schema,
    pattern: `(?:${pattern})|${VARIABLE}`,
    ...(example !== undefined && {
      patternErrorMessage: `write it like ${JSON.stringify(example)}`,
    }),
  }
}
