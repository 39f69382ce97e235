/** Statements of sessions that an identity provider began, and that its logout tokens end. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import type { MemberRole } from '../slots.ts'
import { change, NOW_AT } from './statements.ts'

const sql = (name: string, text: string): Sql => ({ name: `identity sessions: ${name}`, text })

const SET = sql(
  'set',
  `UPDATE sessions SET identity = CAST(? AS BIGINT), provider_user = ?, provider_session = ?, member_role = ?
   WHERE digest = ? AND EXISTS (SELECT 1 FROM api_keys WHERE id = CAST(? AS BIGINT) AND revoked IS NULL)`,
)
const REMEMBER = sql('remember', 'INSERT INTO logout_tokens (digest, expires) VALUES (?, ?)')
const FORGET = sql('forget', 'DELETE FROM logout_tokens WHERE expires < ?')
const endBy = (column: string): Sql =>
  sql(
    `end by ${column}`,
    `UPDATE sessions SET revoked = ?, change = ${NOW_AT} WHERE ${column} = ? AND revoked IS NULL`,
  )
const END = { user: endBy('provider_user'), session: endBy('provider_session') } as const

export interface ProviderSession {
  /** The number of the key of the identity. */
  readonly identity: number
  /** Digests of issuer and `sub`, and of issuer and `sid`. */
  readonly user: string
  readonly session: string | undefined
  /** Undefined: that of the stored member. */
  readonly role: MemberRole | undefined
}
/** Follows `addSession` in one list. Rejects with KEY_UNKNOWN if the identity was revoked. */
export const giveSessionToIdentity = (
  digest: string,
  { identity, user, session, role }: ProviderSession,
): Statement => ({
  sql: SET,
  values: [identity, user, session ?? null, role ?? null, digest, identity],
  rows: 1,
  otherwise: 'KEY_UNKNOWN',
})
/** A verified logout of an identity provider. */
export interface LogoutToken {
  /** Of the token; it is accepted once. */
  readonly digest: string
  /** ms since 1970. */
  readonly expires: number
  /** The sessions that end: those of one session at the provider, or all of a person. */
  readonly by: keyof typeof END
  /** The digest of the person or of the session at the provider. */
  readonly of: string
}
/** Rejects with LOGOUT_REPEATED for a token that was accepted before. */
export const endProviderSessions = (
  { digest, expires, by, of }: LogoutToken,
  now: number,
): readonly Statement[] => [
  change,
  { sql: FORGET, values: [now] },
  {
    sql: REMEMBER,
    values: [digest, expires],
    rows: 1,
    violates: {
      'logout_tokens.digest': 'LOGOUT_REPEATED',
      logout_tokens_pkey: 'LOGOUT_REPEATED',
    },
  },
  { sql: END[by], values: [now, of] },
]
