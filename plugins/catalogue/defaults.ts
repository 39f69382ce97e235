/** `defaults:` of a model: members that a request body gets if the client leaves them out, by
 *  route. Pure. */
import {
  annotate,
  anyOf,
  map,
  object,
  ofTypes,
  type RawOf,
  required,
  text,
} from '../../engine/config/shape.ts'
import type { Json } from '../../engine/plugin.ts'

type Scalar = RawOf<typeof SCALAR>
/** A value, a table by another member of the body, which may itself have a default above, or a text
 *  of other members. */
type Default = Defaults[string]
export type Defaults = RouteDefaults[string]
/** Route name, or `*` for every other route -> its members. */
type RouteDefaults = RawOf<typeof DEFAULTS>

/** The body with the defaults that it lacks; undefined if it lacks none, or is not an object. */
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
  if ('of' in rule) return composed(rule.of, members) ?? rule.default
  const key = String(members[rule.by])
  if (Object.hasOwn(rule.value, key)) return rule.value[key]
  return rule.value[beginningOf(key, rule.value)] ?? rule.value.default
}
const PLACE = /\{(\w+)\}/g
/** Undefined if a member is absent, or is neither a text nor a number. One place alone keeps the
 *  type of its member. */
const composed = (
  template: string,
  members: Readonly<Record<string, Json>>,
): Scalar | undefined => {
  const places = [...template.matchAll(PLACE)]
  const values = places.map(([, name = '']) => members[name])
  const scalars = values.filter(value => typeof value === 'string' || typeof value === 'number')
  const [first] = scalars
  if (scalars.length < places.length || first === undefined) return undefined
  if (template === places[0]?.[0]) return first
  let index = 0
  return template.replace(PLACE, () => String(scalars[index++]))
}
/** The longest row of a table that ends in `*` and that the text begins with. */
const beginningOf = (key: string, table: object): string =>
  Object.keys(table)
    .filter(row => row.endsWith('*') && key.startsWith(row.slice(0, -1)))
    .reduce((longest, row) => (row.length > longest.length ? row : longest), '')

const SCALAR = ofTypes('A value.', ['string', 'number', 'boolean'], { examples: ['720p'] })
const TABLE = { 8: '720p', default: '360p' }
export const DEFAULTS = map(
  'Members that JSON bodies get if clients leave them out, before the call is priced: route name, or * for every other route, to members.',
  map(
    'Members and their values.',
    anyOf(
      'A value, a table by another member, or a text of other members.',
      [
        SCALAR,
        object(
          'The value is made of other members of the body.',
          {
            of: required(
              text(
                'A text with the members in braces. One member alone is the value, with its type.',
                { pattern: '\\{\\w+\\}', examples: ['{width}x{height}', '{seconds}'] },
              ),
            ),
            default: annotate(SCALAR, {
              description: 'The value if one of the members is absent; without it there is none.',
              examples: [5],
            }),
          },
          { examples: [{ of: '{width}x{height}' }] },
        ),
        object(
          'The value depends on another member of the body.',
          {
            by: required(text('The other member.', { examples: ['duration'] })),
            value: required(
              map(
                'Its values, beginnings of values with * at the end, or default for every other one, to the value.',
                annotate(SCALAR, { examples: ['360p'] }),
                { minProperties: 1, examples: [TABLE] },
              ),
            ),
          },
          { examples: [{ by: 'duration', value: TABLE }] },
        ),
      ],
      { examples: ['720p'] },
    ),
    {
      minProperties: 1,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$' },
      examples: [{ resolution: '720p', duration: 5 }],
    },
  ),
  { minProperties: 1, examples: [{ '*': { resolution: '720p', duration: 5 } }] },
)
