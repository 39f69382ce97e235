/** Short JSON Schemas for descriptions of responses, with their static types. An object may have
 *  more members than its schema names. Pure. */
import type { Json } from '../engine/plugin.ts'

declare const TYPE: unique symbol
/** A JSON Schema of values of a type, which only the compiler sees. */
export type Shape<T = unknown> = { readonly [keyword: string]: Json } & { readonly [TYPE]?: T }
export type Shapes = Readonly<Record<string, Shape>>
export type TypeOf<S> = S extends { readonly [TYPE]?: infer T } ? T : never
type None = Readonly<Record<never, never>>
/** The type of an object with these members. */
export type RowOf<Required extends Shapes, Optional extends Shapes = None> = {
  readonly [Name in keyof Required]: TypeOf<Required[Name]>
} & { readonly [Name in keyof Optional]?: TypeOf<Optional[Name]> }

export const any: Shape<Json> = {}
export const text: Shape<string> = { type: 'string' }
export const integer: Shape<number> = { type: 'integer' }
export const between = (minimum: number, maximum: number): Shape<number> => ({
  type: 'integer',
  minimum,
  maximum,
})
export const number: Shape<number> = { type: 'number' }
export const boolean: Shape<boolean> = { type: 'boolean' }
export const time: Shape<string> = { type: 'string', format: 'date-time' }
/** Bytes of a file. */
export const binary: Shape = { type: 'string', contentMediaType: 'application/octet-stream' }
export const constant = <const T extends Json>(value: T): Shape<T> => ({ const: value })
export const oneOf = <const T extends Json>(...values: readonly T[]): Shape<T> => ({ enum: values })
export const nullable = <T>(shape: Shape<T>): Shape<T | null> => ({
  anyOf: [shape, { type: 'null' }],
})
export const list = <T>(items: Shape<T>): Shape<readonly T[]> => ({ type: 'array', items })
export const map = <T>(values: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
})
export const fields = map(any)
export const object = <Required extends Shapes, Optional extends Shapes = None>(
  required: Required,
  optional?: Optional,
): Shape<RowOf<Required, Optional>> => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})
/** Says that there are more members than those that are named. */
export const open = <T>(shape: Shape<T>): Shape<T> => ({ ...shape, additionalProperties: true })
/** The same members, all of which may be null. */
export const nullables = <Name extends string>(...names: readonly Name[]) => {
  return <T>(shape: Shape<T>) =>
    Object.fromEntries(names.map(name => [name, nullable(shape)])) as Readonly<
      Record<Name, Shape<T | null>>
    >
}
export const described = <T>(description: string, shape: Shape<T>): Shape<T> => ({
  description,
  ...shape,
})

/** Responses of the endpoints under /api. */
export const envelopeOf = <Data, Optional extends Shapes = None>(
  data: Shape<Data>,
  more: Shapes = {},
  optional?: Optional,
) => object({ success: boolean, message: text, data, ...more }, optional)
/** A page of a list in the paging format of OpenAI's clients. */
export const pageOf = (item: Shape): Shape =>
  object({
    object: constant('list'),
    data: list(item),
    first_id: nullable(text),
    last_id: nullable(text),
    has_more: boolean,
  })

export const json = (shape: Json) => ({ 'application/json': shape })
/** Server-sent events. */
export const events = (description: string) => ({
  'text/event-stream': described(description, text),
})
export const query = (name: string, description: string, schema: Shape = text) => ({
  name,
  in: 'query' as const,
  description,
  schema,
})
