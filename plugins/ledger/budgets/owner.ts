/** The owners of budgets: each has a window of its own. */
import type { HostBase } from '../../../engine/plugin.ts'
import type { Account, Tags } from '../../slots.ts'
import { knownTags } from '../../tagging/section.ts'

/** Owners with a number, which may have rows of the store, too. */
export const KINDS = ['account', 'key', 'member'] as const
export type OwnerKind = (typeof KINDS)[number]
/** Each value of a tag is an owner, for the calls of all accounts together. */
interface TagOwners {
  readonly tag: string
}
export type Owners = OwnerKind | TagOwners

const NUMBERS: Readonly<Record<OwnerKind, (account: Account) => number | undefined>> = {
  account: ({ id }) => id,
  key: ({ key }) => key?.id,
  member: ({ member }) => member?.id,
}
export const numberOf = (of: OwnerKind, account: Account): number | undefined =>
  NUMBERS[of](account)

/** A number, or the value of a tag. */
export type Owner = number | string
/** A tag may have the name of a member of every object. */
export const tagOf = (tags: Tags | undefined, tag: string): string | undefined =>
  tags && Object.hasOwn(tags, tag) ? tags[tag] : undefined
/** Undefined: a budget of these owners does not apply to the call. */
export const ownerOf = (of: Owners, account: Account, tags: Tags | undefined): Owner | undefined =>
  typeof of === 'object' ? tagOf(tags, of.tag) : NUMBERS[of](account)

const TAG = 'tag '
/** As windows name their owner. A value of a tag is a kind of its own: it has no number. */
export const windowOwner = (of: Owners, owner: Owner) =>
  typeof of === 'object'
    ? { kind: `${TAG}${of.tag}=${owner}`, owner: 0 }
    : { kind: of, owner: Number(owner) }
/** `project=alpha`, if the kind of a window is a value of a tag. */
export const tagIn = (kind: string): string | undefined =>
  kind.startsWith(TAG) ? kind.slice(TAG.length) : undefined
/** The kinds of windows of these owners. */
export const kindsOf = (of: Owners, host: Pick<HostBase, 'section'>): readonly string[] => {
  if (typeof of === 'string') return [of]
  const known = knownTags(host)
  const values = Object.hasOwn(known, of.tag) ? known[of.tag] : undefined
  return Array.isArray(values) ? values.map(value => windowOwner(of, value).kind) : []
}
/** Whether the windows of these owners have this kind. */
export const isKindOf = (of: Owners, kind: string): boolean =>
  typeof of === 'object' ? kind.startsWith(`${TAG}${of.tag}=`) : kind === of

/** `this account`, `the tag project=alpha`. */
export const describeOwner = (of: Owners, owner: Owner): string =>
  typeof of === 'object' ? `the tag ${of.tag}=${owner}` : `this ${of}`
