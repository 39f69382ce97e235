/** Limits of an account or a key, as arguments of operations and as options of commands. */
import { textOf } from '../../engine/cli/kit.ts'
import { integer, object, RATE, text } from '../../engine/config/shape.ts'
import { isCode } from '../../engine/kit.ts'
import type { CommandArguments, Json } from '../../engine/plugin.ts'
import { fault as storeFault } from '../credentials/faults.ts'
import { LIMIT_NAMES, limitsOf } from '../credentials/input.ts'
import type { Limits } from '../views.ts'
import { retentionOf, zoneName } from '../zones/rule.ts'
import { nullable, tagList } from './arguments.ts'

const rate = text('60/min', { maxLength: 16, pattern: RATE })
const MEMBERS = {
  requests: rate,
  tokens: rate,
  concurrency: integer('How many at once.', { minimum: 1, maximum: 1_000_000 }),
  zone: zoneName('The zone where its requests are processed: no other target gets them.'),
  retention: retentionOf('Only upstreams that keep nothing get its requests.'),
  tags: tagList('Its'),
}
/** null removes them. */
export const LIMITS = nullable(
  object('In place of those of routes; null removes them.', MEMBERS, { minProperties: 1 }),
)
/** Members that are absent stay. */
export const LIMIT_CHANGES = nullable(
  object(
    'In place of those of routes; limits that are left out stay, and null removes one, or all.',
    {
      requests: nullable(MEMBERS.requests),
      tokens: nullable(MEMBERS.tokens),
      concurrency: nullable(MEMBERS.concurrency),
      zone: nullable(MEMBERS.zone),
      retention: nullable(MEMBERS.retention),
      tags: nullable(MEMBERS.tags),
    },
    { minProperties: 1 },
  ),
)
export type LimitChanges = { readonly [Name in keyof Limits]?: Limits[Name] | null }
/** The limits with these changes; null: none. */
export const limitsAfter = (before: Limits | null, changes: LimitChanges | null): Limits | null => {
  if (changes === null) return null
  const members = Object.entries({ ...before, ...changes }).filter(([, value]) => value != null)
  return members.length > 0 ? Object.fromEntries(members) : null
}
const ATTEMPTS = 5
/** Repeats a change whose limits were changed by another process since it read them. Throws
 *  KEY_CHANGED. */
export const retryLimitsChange = async <T>(
  noun: string,
  id: number,
  change: () => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await change()
    } catch (error) {
      if (!isCode(error, 'LIMITS_CHANGED')) throw error
    }
  }
  throw storeFault('KEY_CHANGED', [noun, id])
}
/** The changes after which the limits are these. */
export const replacementOf = (
  before: Limits | null,
  after: Limits | null,
): { readonly [name: string]: Json } | null =>
  after && {
    ...Object.fromEntries(Object.keys(before ?? {}).map(name => [name, null])),
    ...after,
  }

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
  tags: { type: 'string', value: 'TAGS', summary: 'tags of its calls: project=alpha,feature=a' },
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
  tags: 'none',
} as const satisfies Readonly<Record<keyof Limits, string>>
/** The options of one limit keep the others. Without any option: nothing. */
export const limitChanges = (
  values: CommandArguments['values'],
): { readonly limits?: LimitChanges } => {
  const named = LIMIT_NAMES.filter(name => textOf(values[name]) !== undefined)
  if (named.length === 0) return {}
  const [removed, added] = [true, false].map(isRemoved =>
    named.filter(name => (values[name] === LIMIT_WORDS[name]) === isRemoved),
  )
  return {
    limits: {
      ...Object.fromEntries((removed ?? []).map(name => [name, null])),
      ...limitsIn(Object.fromEntries((added ?? []).map(name => [name, values[name]]))),
    },
  }
}
