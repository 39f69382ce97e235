/** Limits of an account or a key, as arguments of operations and as options of commands. */

import { textOf } from '../../engine/cli/kit.ts'
import { integer, object, RATE, text } from '../../engine/config/shape.ts'
import type { CommandArguments } from '../../engine/plugin.ts'
import { LIMIT_NAMES, limitsOf } from '../credentials/input.ts'
import type { Limits } from '../views.ts'
import { retentionOf, zoneName } from '../zones/rule.ts'
import { nullable } from './arguments.ts'

const rate = text('60/min', { maxLength: 16, pattern: RATE })
/** null removes them. */
export const LIMITS = nullable(
  object(
    'In place of those of routes; null removes them.',
    {
      requests: rate,
      tokens: rate,
      concurrency: integer('How many at once.', { minimum: 1, maximum: 1_000_000 }),
      zone: zoneName('The zone where its requests are processed: no other target gets them.'),
      retention: retentionOf('Only upstreams that keep nothing get its requests.'),
    },
    { minProperties: 1 },
  ),
)

export const LIMIT_OPTIONS = {
  requests: { type: 'string', value: 'RATE', summary: "in place of the route's limit: 60/min" },
  tokens: { type: 'string', value: 'RATE', summary: "in place of the route's limit: 100000/min" },
  concurrency: { type: 'string', value: 'NUMBER', summary: "in place of the route's limit" },
  zone: { type: 'string', value: 'NAME', summary: 'only upstreams of this zone get its requests' },
  retention: {
    type: 'string',
    value: 'none',
    summary: 'only upstreams that keep nothing get them',
  },
} as const
/** Undefined without any of these options. */
export const limitsIn = (values: CommandArguments['values']) =>
  limitsOf(name => textOf(values[name]))

/** Each with the word that removes it. */
const LIMIT_WORDS = {
  requests: 'none',
  tokens: 'none',
  concurrency: 'none',
  zone: 'any',
  retention: 'any',
} as const satisfies Readonly<Record<keyof Limits, string>>
/** The options of one limit keep the others. Without any option: nothing. */
export const limitChanges = (
  values: CommandArguments['values'],
  before: { readonly limits: Limits | null },
): { readonly limits?: Limits | null } => {
  const named = LIMIT_NAMES.filter(name => textOf(values[name]) !== undefined)
  if (named.length === 0) return {}
  const others = Object.entries(before.limits ?? {}).filter(
    ([name]) => !named.some(each => each === name),
  )
  const added = named.filter(name => values[name] !== LIMIT_WORDS[name])
  const limits = {
    ...Object.fromEntries(others),
    ...limitsIn(Object.fromEntries(added.map(name => [name, values[name]]))),
  }
  return { limits: Object.keys(limits).length > 0 ? limits : null }
}
