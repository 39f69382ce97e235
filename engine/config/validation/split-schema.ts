/** Splits the schema of routes.yaml before it is compiled. The code of one schema is one function,
 *  and V8 compiles all of it at the first call: 1.3 MB. As definitions, the keys that a document
 *  does not use are never compiled. */

type Schema = Readonly<Record<string, unknown>>

/** The same schema, with each key that has more than a plain value as a definition of its own. */
export const splitSchema = (schema: object): object => {
  const definitions: Schema[] = []
  const split = (part: unknown): unknown => {
    // References inside a schema with an id are relative to it.
    if (!isSchema(part) || part.$id !== undefined) return part
    return Object.fromEntries(
      Object.entries(part).map(([keyword, value]) => {
        if (keyword === 'items' || keyword === 'additionalProperties')
          return [keyword, split(value)]
        if (keyword !== 'properties' || !isSchema(value)) return [keyword, value]
        return [keyword, Object.fromEntries(Object.entries(value).map(define))]
      }),
    )
  }
  const define = ([name, part]: readonly [string, unknown]): [string, unknown] => {
    if (!isSchema(part) || !LARGE.some(keyword => keyword in part)) return [name, part]
    definitions.push(split(part) as Schema)
    return [name, { $ref: `#/$defs/${definitions.length - 1}` }]
  }
  const root = split(schema) as Schema
  return definitions.length === 0 ? schema : { ...root, $defs: { ...definitions } }
}
/** Keywords whose code is large. Alternatives stay whole, since their errors are compared. */
const LARGE = ['properties', 'items', 'anyOf', 'oneOf']
const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
