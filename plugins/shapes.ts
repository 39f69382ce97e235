/** Short JSON Schemas for descriptions of responses. An object may have more members than its
 *  schema names. Pure. */
import type { Json } from '../engine/plugin.ts'

export type Shape = { readonly [keyword: string]: Json }
type Shapes = Readonly<Record<string, Shape>>

export const any: Shape = {}
export const text: Shape = { type: 'string' }
export const integer: Shape = { type: 'integer' }
export const between = (minimum: number, maximum: number): Shape => ({
  type: 'integer',
  minimum,
  maximum,
})
export const number: Shape = { type: 'number' }
export const boolean: Shape = { type: 'boolean' }
export const time: Shape = { type: 'string', format: 'date-time' }
/** Bytes of a file. */
export const binary: Shape = { type: 'string', contentMediaType: 'application/octet-stream' }
export const constant = (value: Json): Shape => ({ const: value })
export const oneOf = (...values: readonly Json[]): Shape => ({ enum: values })
export const nullable = (shape: Shape): Shape => ({ anyOf: [shape, { type: 'null' }] })
export const list = (items: Shape): Shape => ({ type: 'array', items })
export const map = (values: Shape): Shape => ({ type: 'object', additionalProperties: values })
export const fields: Shape = map(any)
export const object = (required: Shapes, optional: Shapes = {}): Shape => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})
/** Says that there are more members than those that are named. */
export const open = (shape: Shape): Shape => ({ ...shape, additionalProperties: true })
/** The same members, all of which may be null. */
export const nullables = (...names: readonly string[]): ((shape: Shape) => Shapes) => {
  return shape => Object.fromEntries(names.map(name => [name, nullable(shape)]))
}
export const described = (description: string, shape: Shape): Shape => ({ description, ...shape })

/** Responses of the endpoints under /api. */
export const envelopeOf = (data: Shape, more: Shapes = {}, optional: Shapes = {}): Shape =>
  object({ success: boolean, message: text, data, ...more }, optional)
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
