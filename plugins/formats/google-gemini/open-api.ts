/** Converts Google's subset of OpenAPI to the equivalent JSON Schema. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lookUp } from '../fields.ts'

/** Numbers that Google sends as strings. */
const NUMERIC_KEYWORDS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])
/** Google's own keywords, which are converted elsewhere or do not constrain values. */
const GOOGLE_KEYWORDS = new Set(['nullable', 'propertyOrdering', 'property_ordering', 'example'])
const SNAKE_CASE = /_([a-z])/g

export const convertToJsonSchema = (openApi: Fields): Fields => {
  const schema: { [key: string]: Json } = {}
  for (const [name, value] of Object.entries(openApi)) {
    if (GOOGLE_KEYWORDS.has(name) || value === null) continue
    const key = name.replace(SNAKE_CASE, (_, letter: string) => letter.toUpperCase())
    schema[key] =
      lookUp(READERS, key)?.(value) ?? (NUMERIC_KEYWORDS.has(key) ? Number(value) : value)
  }
  if (openApi.nullable === true && typeof schema.type === 'string') {
    schema.type = [schema.type, 'null']
    if (Array.isArray(schema.enum)) schema.enum = [...schema.enum, null]
  }
  return schema
}

const convertList = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(item => (isFields(item) ? convertToJsonSchema(item) : item))
    : value
const READERS: Readonly<Record<string, (value: Json) => Json>> = {
  type: value => (typeof value === 'string' ? value.toLowerCase() : value),
  items: value => (isFields(value) ? convertToJsonSchema(value) : value),
  anyOf: convertList,
  properties: value =>
    isFields(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, property]) => [
            name,
            isFields(property) ? convertToJsonSchema(property) : property,
          ]),
        )
      : value,
}
