/** The decisions about a call, for its sums: the rule of its model, the result of the cache, and
 *  the actions of guards. */
import type { Exchange } from '../../engine/plugin.ts'
import type { CallPart } from '../calls/call-sums.ts'
import { GUARD_VERSION, GUARDED, HAS_RULES, RULE } from '../slots.ts'

const CACHE_HEADER = 'x-tollgate-cache'
/** `pii=masked(2), topics/advice=blocked(1)`: the names without their labels. */
const VERDICT = /([^=, /]+)[^=,]*=([a-z]+)\(\d+\)/g

/** Undefined for most calls. */
export const partsOf = (exchange: Exchange): readonly CallPart[] | undefined => {
  const { slots } = exchange
  const hasRules = slots.get(HAS_RULES) === true
  const isGuarded = slots.get(GUARD_VERSION) !== undefined || slots.get(GUARDED) !== undefined
  const cache = exchange.hasReply ? exchange.reply.headers[CACHE_HEADER] : undefined
  if (!hasRules && !isGuarded && cache === undefined) return undefined
  const parts: CallPart[] = []
  if (hasRules) parts.push({ kind: 'rule', part: slots.get(RULE) ?? '' })
  if (cache !== undefined) parts.push({ kind: 'cache', part: resultOf(String(cache)) })
  if (isGuarded) parts.push({ kind: 'guard', part: '' })
  const actions = [...(slots.get(GUARDED) ?? '').matchAll(VERDICT)]
  for (const part of new Set(actions.map(([, name, word]) => `${name} ${word}`)))
    parts.push({ kind: 'guard', part })
  return parts
}
const resultOf = (header: string): string =>
  header.includes('kind=semantic') ? 'similar' : (header.split(';')[0] ?? '')
