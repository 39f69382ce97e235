/** `defaults:` of a model: members that a request body gets where the client leaves them out, by
 *  route. Pure. */
import type { Json } from '../../engine/plugin.ts'

type Scalar = string | number | boolean
/** A value, or a table by another member of the body, which may itself have a default above. */
type Default = Scalar | { readonly by: string; readonly value: Readonly<Record<string, Scalar>> }
export type Defaults = Readonly<Record<string, Default>>
/** Route name, or `*` for every other route -> its members. */
export type RouteDefaults = Readonly<Record<string, Defaults>>

/** The body with the defaults that it lacks; undefined where it lacks none, or is no object. */
export const applyDefaults = (body: Json, defaults: Defaults): Json | undefined => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined
  const members: Record<string, Json> = { ...(body as { readonly [name: string]: Json }) }
  let isChanged = false
  for (const [name, rule] of Object.entries(defaults)) {
    const value = members[name] === undefined ? defaultOf(rule, members) : undefined
    if (value === undefined) continue
    members[name] = value
    isChanged = true
  }
  return isChanged ? members : undefined
}
const defaultOf = (rule: Default, members: Readonly<Record<string, Json>>): Scalar | undefined => {
  if (typeof rule !== 'object') return rule
  const key = String(members[rule.by])
  return Object.hasOwn(rule.value, key) ? rule.value[key] : rule.value.default
}

const scalar = (description: string, example: Scalar) => ({
  description,
  type: ['string', 'number', 'boolean'],
  examples: [example],
})
export const DEFAULTS = {
  description:
    'Members that JSON bodies get where clients leave them out, before the call is priced: route name, or * for every other route, to members.',
  type: 'object',
  minProperties: 1,
  additionalProperties: {
    description: 'Members and their values.',
    type: 'object',
    minProperties: 1,
    propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$' },
    additionalProperties: {
      description: 'A value, or a table by another member.',
      anyOf: [
        scalar('A value.', '720p'),
        {
          description: 'The value depends on another member of the body.',
          type: 'object',
          required: ['by', 'value'],
          additionalProperties: false,
          properties: {
            by: { description: 'The other member.', type: 'string', examples: ['duration'] },
            value: {
              description: 'Its values, or default for every other one, to the value.',
              type: 'object',
              minProperties: 1,
              additionalProperties: scalar('A value.', '360p'),
              examples: [{ 8: '720p', default: '360p' }],
            },
          },
          examples: [{ by: 'duration', value: { 8: '720p', default: '360p' } }],
        },
      ],
      examples: ['720p'],
    },
    examples: [{ resolution: '720p', duration: 5 }],
  },
  examples: [{ '*': { resolution: '720p', duration: 5 } }],
}
