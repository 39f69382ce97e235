/** The schema of routes.yaml for editors, which see the text before variables are expanded: where a
 *  value is checked, a text with a variable is accepted too. */
import { allowedKeys } from '../problem.ts'

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

/** `outerExamples`: of the schema that this one is an alternative of. */
const withVariableForms = (schema: unknown, outerExamples?: unknown): unknown => {
  if (!isSchema(schema) || Array.isArray(schema)) return schema
  const inner: Record<string, unknown> = { ...schema }
  for (const key of MAPS)
    if (isSchema(inner[key]))
      inner[key] = Object.fromEntries(
        Object.entries(inner[key]).map(([name, each]) => [name, withVariableForms(each)]),
      )
  for (const key of LISTS)
    if (Array.isArray(inner[key]))
      inner[key] = inner[key].map(each => withVariableForms(each, schema.examples))
  for (const key of SINGLES) if (key in inner) inner[key] = withVariableForms(inner[key])
  return acceptVariables(inner, outerExamples)
}

const acceptVariables = (source: Schema, outerExamples: unknown): Schema => {
  const schema = withUnknownKeys(source)
  const types = [schema.type].flat()
  const isChecked =
    types.some(type => CHECKED_TYPES.has(String(type))) || CHECKS.some(key => key in schema)
  if (isChecked) {
    const notes = Object.entries(schema).filter(([key]) => NOTES.has(key))
    const checks = Object.entries(schema).filter(([key]) => !NOTES.has(key))
    return {
      ...Object.fromEntries(notes),
      anyOf: [
        { ...Object.fromEntries(checks), ...sentences(schema, outerExamples) },
        { type: 'string', pattern: VARIABLE },
      ],
    }
  }
  const { pattern } = schema
  if (typeof pattern !== 'string') return schema
  return { ...schema, pattern: `(?:${pattern})|${VARIABLE}`, ...sentences(schema, outerExamples) }
}

/** The end of the sentence that `check` says about a wrong value. */
const sentences = (
  { enum: choices, pattern, examples }: Schema,
  outerExamples: unknown,
): Schema => {
  const samples = [examples ?? outerExamples ?? []].flat().map(each => JSON.stringify(each))
  return {
    ...(Array.isArray(choices) && { errorMessage: `it is one of ${choices.join(', ')}` }),
    ...(typeof pattern === 'string' &&
      samples.length > 0 && { patternErrorMessage: `write it like ${samples.join(' or ')}` }),
  }
}

/** `errorMessage` replaces each sentence of an editor about a schema, so unknown keys get a schema
 *  of their own. No schema can name the key that was typed: the mark is below it. */
const withUnknownKeys = (schema: Schema): Schema => {
  const { additionalProperties, properties, patternProperties, propertyNames, ...rest } = schema
  if (isSchema(propertyNames) && Array.isArray(propertyNames.enum))
    return {
      ...schema,
      propertyNames: { ...propertyNames, errorMessage: allowedKeys(propertyNames.enum) },
    }
  if (additionalProperties !== false || !isSchema(properties)) return schema
  const allTrue = (keys: object): Schema =>
    Object.fromEntries(Object.keys(keys).map(key => [key, true]))
  const patterns = isSchema(patternProperties) ? patternProperties : undefined
  const known = {
    properties: allTrue(properties),
    ...(patterns && { patternProperties: allTrue(patterns) }),
    additionalProperties: false,
    errorMessage: allowedKeys(Object.keys(properties)),
  }
  return {
    ...rest,
    ...(propertyNames !== undefined && { propertyNames }),
    properties,
    ...(patterns && { patternProperties: patterns }),
    allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), known],
  }
}
