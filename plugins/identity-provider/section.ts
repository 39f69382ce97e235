/** The section `identity:`: whose tokens are accepted, and what their claims mean. */
import {
  flag,
  list,
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

const CLAIM = text(
  'The claim: its name, or names joined by dots for members of objects. Lists are searched, too.',
  { pattern: '^[^\\s]{1,200}$', examples: ['sub', 'org.id', 'https://example.com/roles'] },
)
export const ACCOUNT_NAME = '^[^\\s:][^:]{0,63}$'

export const SECTION = object(
  'The identity provider whose tokens (JWT) routes with `auth: jwt` accept: OpenID Connect, or keys by URL or file.',
  {
    issuer: required(
      text('What `iss` of each token is. Without `jwks`, its discovery document names the keys.', {
        pattern: '^https?://[^\\s]+$',
        examples: ['https://id.example.com'],
      }),
    ),
    jwks: text('Its public keys (JWK Set): a URL, or a file beside routes.yaml.', {
      minLength: 1,
      examples: ['https://id.example.com/jwks', 'keys.json'],
    }),
    audience: required(
      oneOrMore(
        'The required `aud` of a token: the name of this gateway at the provider, or one of several.',
        text('One audience.', { minLength: 1, examples: ['https://gateway.example.com'] }),
        { minItems: 1, examples: ['https://gateway.example.com', ['gateway', 'console']] },
      ),
    ),
    account: object(
      'The account that pays: the value of a claim. The default is `sub`: an account per person.',
      {
        claim: { ...CLAIM, presence: 'default', fallback: 'sub' },
        prefix: text('What is put before the value.', {
          pattern: ACCOUNT_NAME,
          examples: ['sso-'],
        }),
        map: map(
          'Maps values of the claim to accounts. Other values name no account; the first mapped value of a token counts.',
          text('The name of the account.', { pattern: ACCOUNT_NAME, examples: ['acme'] }),
          { minProperties: 1, examples: [{ 'eng@example.com': 'acme' }] },
        ),
      },
      { examples: [{ claim: 'org.id', prefix: 'sso-' }] },
    ),
    member: {
      ...CLAIM,
      schema: {
        ...CLAIM.schema,
        description:
          'The claim that names the member of the team, different for each person. Without it tokens act as the account itself.',
        examples: ['email'],
      },
    },
    role: object(
      'The role of the member, for each token. Without it members get `member` at first use, and keep the role that the team gives them.',
      {
        claim: { ...CLAIM, presence: 'required' },
        map: map(
          'Maps values of the claim to roles. Of several roles the one with the most rights applies.',
          oneOf('The role.', ROLES, { examples: ['admin'] }),
          { minProperties: 1, examples: [{ 'gateway-admins': 'admin' }] },
        ),
        default: oneOf('The role of tokens without one. Without it they are refused.', ROLES, {
          examples: ['member'],
        }),
      },
      { examples: [{ claim: 'groups', map: { 'gateway-admins': 'admin' }, default: 'member' }] },
    ),
    create: oneOf(
      'Creates at first use: accounts (without money) and members, only members of known accounts, or nothing.',
      ['accounts', 'members', 'nothing'],
      { default: 'accounts', examples: ['members'] },
    ),
    client_id: text(
      'The name of the gateway as a client of the provider. With it the console has a button that signs in by the provider.',
      { pattern: '^[\\x21-\\x7e]{1,255}$', examples: ['tollgate'] },
    ),
    client_secret: text('The secret of this client; without one it is a public client.', {
      minLength: 1,
      examples: ['${OIDC_CLIENT_SECRET}'],
    }),
    scopes: list(
      'What the sign-in asks for, beside `openid`.',
      text('One scope.', {
        pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,100}$',
        examples: ['groups'],
      }),
      { default: ['profile', 'email'], examples: [['email', 'groups']] },
    ),
    operators: flag('Whether tokens and sign-ins may use accounts with the role admin.', {
      default: false,
      examples: [true],
    }),
  },
  { examples: [{ issuer: 'https://id.example.com', audience: 'gateway', member: 'email' }] },
)
type RawSection = RawOf<typeof SECTION>
export type Section = ValueOf<typeof SECTION>

/** Undefined: no token is accepted. */
export const sectionOf = (host: Pick<HostBase, 'section'>): Section | undefined => {
  const raw = host.section<Partial<RawSection> | undefined>('identity')
  return raw?.issuer === undefined ? undefined : SECTION.read(raw as RawSection)
}
/** Whether keys come from a URL and not from a file. */
export const isAddress = (jwks: string): boolean => /^https?:/.test(jwks)
