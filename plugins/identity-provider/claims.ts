/** Maps the claims of a token to an account, a member and a role. Pure. */
import { hash } from 'node:crypto'
import { isFields } from '../../engine/kit.ts'
import { ROLES } from '../rows/accounts.ts'
import type { MemberRole } from '../slots.ts'
import { fault } from './faults.ts'
import type { Section } from './section.ts'

export interface Identity {
  /** Of issuer, subject and account. No secret has one of this form. */
  readonly digest: string
  readonly subject: string
  readonly account: string
  readonly member: string | undefined
  /** Undefined: that of the stored member. */
  readonly role: MemberRole | undefined
}
export type Claims = Readonly<Record<string, unknown>>
type Mapping = Pick<Section, 'issuer' | 'account' | 'member' | 'role'>

/** Throws IDENTITY_CLAIM. */
export const identityOf = (
  claims: Claims,
  { issuer, account, member, role }: Mapping,
): Identity => {
  const subject = String(claims.sub)
  const { claim = 'sub', prefix = '', map } = account ?? {}
  const name = prefix + nameIn(claims, claim, map)
  return {
    digest: `identity:${hash('sha256', JSON.stringify([issuer, subject, name]))}`,
    subject,
    account: name,
    member: member === undefined ? undefined : memberIn(claims, member),
    role: role && roleIn(claims, role),
  }
}

/** All texts and numbers at a path. A name with dots counts as one name first. */
export const valuesAt = (value: unknown, path: string): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(each => valuesAt(each, path))
  if (!isFields(value)) return []
  if (Object.hasOwn(value, path)) return textsIn(value[path])
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const head = path.slice(0, dot)
    if (Object.hasOwn(value, head)) return valuesAt(value[head], path.slice(dot + 1))
  }
  return []
}
const textsIn = (value: unknown): readonly string[] =>
  [value].flat(2).flatMap(each => (['string', 'number'].includes(typeof each) ? `${each}` : []))

/** Letters, digits and some characters of `sub` and of mail addresses; not a colon, which deleted
 *  accounts have. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@+|/-]{0,63}$/u

const nameIn = (claims: Claims, claim: string, map?: Readonly<Record<string, string>>): string => {
  const values = [...new Set(verifiedAt(claims, claim))]
  if (map) {
    const known = Object.keys(map).find(each => values.includes(each))
    if (known === undefined) throw fault('IDENTITY_CLAIM', [claim, 'has no known value'])
    return String(map[known])
  }
  const [value, ...more] = values
  if (value === undefined) throw fault('IDENTITY_CLAIM', [claim, 'is missing or empty'])
  if (more.length > 0) throw fault('IDENTITY_CLAIM', [claim, 'has several values'])
  if (NAME.test(value)) return value
  throw fault('IDENTITY_CLAIM', [claim, 'must have 1 to 64 letters, digits and . _ @ + | / -'])
}
/** Anyone can enter an address that is not verified. Some providers write the flag as a text. */
const verifiedAt = (claims: Claims, claim: string): readonly string[] => {
  if (claim === 'email' && String(claims.email_verified) === 'false')
    throw fault('IDENTITY_CLAIM', [claim, 'is not verified by the provider'])
  return valuesAt(claims, claim)
}
/** Operations take the number of a member in place of its name. */
export const isMemberName = (text: string): boolean => NAME.test(text) && !isNumber(text)
const isNumber = (text: string): boolean => /^\d{1,15}$/.test(text)
const memberIn = (claims: Claims, claim: string): string => {
  const name = nameIn(claims, claim)
  if (isNumber(name))
    throw fault('IDENTITY_CLAIM', [claim, 'is a short number, which could be that of a member'])
  return name
}
const roleIn = (claims: Claims, { claim, map, default: other }: NonNullable<Section['role']>) => {
  const values = verifiedAt(claims, claim)
  const roles = new Set(values.map(each => (map ? own(map, each) : each)))
  const role = ROLES.find(each => roles.has(each)) ?? other
  if (role === undefined) throw fault('IDENTITY_CLAIM', [claim, 'has no known role'])
  return role
}
const own = <T>(map: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined
