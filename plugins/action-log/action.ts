/** An action and the row that records it. Each row is signed together with the signature of the row
 *  before it: who cannot sign cannot change, remove or add a row unseen. Pure. */
import { createHash, createHmac } from 'node:crypto'
import type { Json } from '../../engine/plugin.ts'

/** Who acts. */
export interface Actor {
  readonly via:
    | 'command line'
    | 'admin listener'
    | 'admin API'
    | 'own account'
    | 'sign-in'
    | 'SCIM'
    | 'gateway'
  readonly name: string
  /** The number of its account; undefined for the command line and the socket of the listener. */
  readonly account?: number
  /** `session 4`, `system token 3` or `key 2`; absent on the command line and the listener. */
  readonly credential?: string
  /** IP address; absent on the command line and the socket of the listener. */
  readonly address?: string
  /** Id of the request, as in the log. */
  readonly request?: string
  /** The user of the operating system, on the command line. */
  readonly user?: string
}
/** No secrets: they are shown once, and stored as digests. */
export interface Change {
  /** `account 7`, `key 3`, `task 91` */
  readonly object: string
  readonly before: Json
  readonly after: Json
}
export interface Action extends Change {
  /** `keys create` */
  readonly operation: string
  readonly actor: Actor
}

export interface ActionKey {
  /** Names the key without showing it. */
  readonly id: string
  readonly secret: string
}
/** The last row. */
export interface Head {
  /** 0: there is none. */
  readonly seq: number
  readonly mac: string
}
/** A row of the table. `entry`: JSON of the actor without its name, `before` and `after`. */
export interface ActionRow extends Head {
  /** ms since 1970. */
  readonly at: number
  readonly operation: string
  readonly actor: string
  readonly object: string
  readonly entry: string
  /** Id of the key that signed it. */
  readonly key: string
  /** Signature of the row before. */
  readonly prev: string
}

export const keyOf = (secret: string): ActionKey => ({
  id: createHash('sha256').update(`tollgate actions ${secret}`).digest('hex').slice(0, 12),
  secret,
})
const sign = ({ secret }: ActionKey, parts: Json): string =>
  createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')

export const macOf = (row: Omit<ActionRow, 'mac'>, key: ActionKey): string => {
  const { seq, at, operation, actor, object, entry, prev } = row
  return sign(key, ['action', seq, at, operation, actor, object, entry, row.key, prev])
}
/** Signs that all rows up to this one were deleted because of their age. */
export const proofOf = ({ seq, mac }: Head, key: ActionKey): string =>
  sign(key, ['deleted', seq, mac])

/** The row that follows `head`. */
export const nextRow = (head: Head, action: Action, key: ActionKey, at: number): ActionRow => {
  const { operation, object, before, after } = action
  const { name, ...actor } = action.actor
  const row = {
    seq: head.seq + 1,
    at,
    operation,
    actor: plainText(name),
    object: plainText(object),
    entry: JSON.stringify({ ...actor, before: bounded(before), after: bounded(after) }),
    key: key.id,
    prev: head.mac,
  }
  return { ...row, mac: macOf(row, key) }
}
/** The store returns such a text unchanged. */
const plainText = (text: string): string =>
  text
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .slice(0, MAX_NAME)
const MAX_NAME = 500
/** Characters of JSON. */
const MAX_VALUE = 32_000
const bounded = (value: Json): Json => {
  const text = JSON.stringify(value)
  if (text.length <= MAX_VALUE) return value
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { sha256, characters: text.length, start: text.slice(0, 1_000) }
}
