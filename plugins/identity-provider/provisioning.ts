/** The section `scim:`: who may provision users, and the teams of which they are members. */
import {
  flag,
  map,
  object,
  oneOf,
  oneOrMore,
  type RawOf,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { ROLES } from '../rows/accounts.ts'
import { ACCOUNT_NAME } from './section.ts'

export const PROVISIONING = object(
  'Provisioning by SCIM 2.0: an identity provider creates, changes and deactivates the members of teams. Tokens then create neither members nor accounts.',
  {
    token: required(
      oneOrMore(
        'The bearer token of the provider, or several, of which each is accepted.',
        text('One token.', {
          minLength: 16,
          format: 'password',
          examples: ['${SCIM_TOKEN}'],
        }),
        { minItems: 1, examples: ['${SCIM_TOKEN}'] },
      ),
    ),
    member: oneOf(
      'The attribute that names the member: the same text as the claim `member` of `identity`.',
      ['userName', 'email', 'externalId'],
      { default: 'userName', examples: ['email'] },
    ),
    account: text('The account of users whom no group of `accounts` has.', {
      pattern: ACCOUNT_NAME,
      examples: ['acme'],
    }),
    accounts: map(
      'Maps names of groups to accounts. The first group that has the user counts.',
      text('The name of the account.', { pattern: ACCOUNT_NAME, examples: ['research'] }),
      { minProperties: 1, examples: [{ 'Gateway research': 'research' }] },
    ),
    roles: map(
      'Maps names of groups to roles; of several the one with the most rights applies. Without it the team may change roles.',
      oneOf('The role.', ROLES, { examples: ['admin'] }),
      { minProperties: 1, examples: [{ 'Gateway admins': 'admin' }] },
    ),
    role: oneOf('The role of users whom no group of `roles` has.', ROLES, {
      default: 'member',
      examples: ['viewer'],
    }),
    operators: flag('Whether users may be members of accounts with the role admin.', {
      default: false,
      examples: [true],
    }),
  },
  { examples: [{ token: '${SCIM_TOKEN}', account: 'acme', roles: { 'Gateway admins': 'admin' } }] },
)
type RawProvisioning = RawOf<typeof PROVISIONING>
export type Provisioning = ValueOf<typeof PROVISIONING>

/** Undefined: no provider provisions users. */
export const provisioningOf = (host: Pick<HostBase, 'section'>): Provisioning | undefined => {
  const raw = host.section<Partial<RawProvisioning> | undefined>('scim')
  return raw?.token === undefined ? undefined : PROVISIONING.read(raw as RawProvisioning)
}
