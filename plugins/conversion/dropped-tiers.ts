/** Tiers that a target's format does not carry: the provider serves the call at its standard, which
 *  is charged and answered, unless the answer names another one. */
import type { UpstreamView } from '../../engine/plugin.ts'
import { isFields } from '../formats/fields.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { type RequestedTier, requestedTiersOf, STANDARD } from '../formats/tiers.ts'
import type { Attributes } from '../slots.ts'

export interface DroppedTiers {
  /** The client's names of the members. */
  readonly members: ReadonlySet<string>
  /** In their place: the tiers that the target gets from other members, else the standards of the
   *  upstream. */
  readonly standards: Attributes
}
/** `fields`: what the translation dropped, as the client names it. Undefined: no tier. */
export const droppedTiersOf = (
  { body }: Pick<Prompt, 'body'>,
  fields: readonly string[],
  upstream: UpstreamView | undefined,
): DroppedTiers | undefined => {
  if (fields.length === 0) return undefined
  const isDropped = ({ member, holder }: RequestedTier): boolean =>
    fields.includes(holder ?? member)
  const named = requestedTiersOf(body)
  const tiers = named.filter(isDropped)
  if (tiers.length === 0) return undefined
  const { default_tiers: defaults } = upstream?.options ?? {}
  const own: Attributes = isFields(defaults) ? (defaults as Attributes) : {}
  const carried = named.filter(each => !isDropped(each))
  const standards = tiers.flatMap(({ name }) => {
    const values = carried.filter(each => each.name === name).map(({ value }) => value)
    // The upstream may read any of several values that it gets.
    return values.length > 1 ? [] : [[name, values[0] ?? own[name] ?? STANDARD] as const]
  })
  return {
    members: new Set(tiers.map(({ member, holder }) => holder ?? member)),
    standards: Object.fromEntries(standards),
  }
}
/** The prompt as answers repeat it. */
export const withoutTiers = (prompt: Prompt, { members }: DroppedTiers): Prompt => {
  const entries = Object.entries(prompt.body).filter(([name]) => !members.has(name))
  return { ...prompt, body: Object.fromEntries(entries) }
}
