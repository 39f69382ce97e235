/** Converts Google's subset of OpenAPI to the equivalent JSON Schema. */
import type { Json } from '../../../engine/plugin.ts'
import { entryOf, type Fields, isFields } from '../fields.ts'

/** Numbers that Google sends as strings. */
const COUNTS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])
/** Google's own keywords, which are converted elsewhere or do not constrain values. */
const OWN = new Set(['nullable', 'propertyOrdering', 'property_ordering', 'example'])
const snakes = /_([a-z])/g

export const jsonSchema = (given: Fields): Fields => {
  const schema: { [key: string]: Json } = {}
  for (const [written, value] of Object.entries(given)) {
    if (OWN.has(written) || value === null) continue
    const key = written.replace(snakes, (_, letter: string) => letter.toUpperCase())
    schema[key] = entryOf(READERS, key)?.(value) ?? (COUNTS.has(key) ? Number(value) : value)
  }
  if (given.nullable === true && typeof schema.type === 'string') {
    schema.type = [schema.type, 'null']
    if (Array.isArray(schema.enum)) schema.enum = [...schema.enum, null]
  }
  return schema
}

const each = (value: Json): Json =>
  Array.isArray(value) ? value.map(one => (isFields(one) ? jsonSchema(one) : one)) : value
const READERS: Readonly<Record<string, (value: Json) => Json>> = {
  type: value => (typeof value === 'string' ? value.toLowerCase() : value),
  items: value => (isFields(value) ? jsonSchema(value) : value),
  anyOf: each,
  properties: value =>
    isFields(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, one]) => [name, isFields(one) ? jsonSchema(one) : one]),
        )
      : value,
}
