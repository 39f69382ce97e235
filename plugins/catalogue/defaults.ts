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
/** A value, or a table by another member of the body, which may itself have a default above. */
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
  const key = String(members[rule.by])
  if (Object.hasOwn(rule.value, key)) return rule.value[key]
  return rule.value[beginningOf(key, rule.value)] ?? rule.value.default
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
      'A value, or a table by another member.',
      [
        SCALAR,
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
