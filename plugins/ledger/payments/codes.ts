/** Codes that become credit, or give a plan, once: made by operators, redeemed by customers. A code
 *  is stored as a digest. */
import { hash, randomBytes } from 'node:crypto'
import type { Row, Sql, Statement } from '../../../engine/plugin.ts'
import { nanosOf } from '../statements.ts'

const sql = (name: string, text: string): Sql => ({ name: `codes: ${name}`, text })
const COLUMNS = 'id, amount, plan, lasts, note, created, expires, account, redeemed, revoked'
const ADD = sql(
  'add',
  `INSERT INTO codes (id, digest, amount, plan, lasts, note, created, expires)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
)
export const FIND_CODE = sql('find', `SELECT ${COLUMNS} FROM codes WHERE digest = ?`)
export const CODE_OF_ID = sql('of id', `SELECT ${COLUMNS} FROM codes WHERE id = ?`)
/** Parameters: the id to start after, the size. */
export const CODES = sql('list', `SELECT ${COLUMNS} FROM codes WHERE id > ? ORDER BY id LIMIT ?`)
const REDEEM = sql(
  'redeem',
  `UPDATE codes SET account = ?, redeemed = ?
   WHERE id = ? AND account IS NULL AND revoked IS NULL AND (expires IS NULL OR expires > ?)`,
)
const REVOKE = sql(
  'revoke',
  'UPDATE codes SET revoked = ? WHERE id = ? AND account IS NULL AND revoked IS NULL',
)

/** Digits without those that look alike (Crockford's base 32): 100 random bits. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 20
const ID_LENGTH = 12

/** `ABCDE-12345-FGHJK-67890` */
export const makeCode = (): string => {
  const digits = Array.from(randomBytes(LENGTH), byte => DIGITS[byte % DIGITS.length] ?? '0')
  return digits.join('').replace(/.{5}(?=.)/g, '$&-')
}
/** Of a code as people type it: in any case, with or without dashes. Undefined: it is none. */
export const digestOfCode = (text: string): string | undefined => {
  const digits = text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  const isCode = digits.length === LENGTH && [...digits].every(each => DIGITS.includes(each))
  return isCode ? hash('sha256', digits, 'hex') : undefined
}
export const idOfCode = (digest: string): string => digest.slice(0, ID_LENGTH)

export interface Code {
  readonly id: string
  /** Nanos. */
  readonly amount: bigint
  /** The plan that it gives, and for how long, such as 30d; absent: without an end. */
  readonly plan: string | undefined
  readonly lasts: string | undefined
  readonly note: string
  readonly created: number
  readonly expires: number | undefined
  /** Who redeemed it. */
  readonly account: number | undefined
  readonly redeemed: number | undefined
  readonly revoked: number | undefined
}
export const codeOf = (row: Row): Code => {
  const numberOf = (value: Row[string] | undefined) => (value == null ? undefined : Number(value))
  const textOf = (value: Row[string] | undefined) => (value == null ? undefined : String(value))
  return {
    id: String(row.id),
    amount: nanosOf(row.amount),
    plan: textOf(row.plan),
    lasts: textOf(row.lasts),
    note: String(row.note),
    created: Number(row.created),
    expires: numberOf(row.expires),
    account: numberOf(row.account),
    redeemed: numberOf(row.redeemed),
    revoked: numberOf(row.revoked),
  }
}

type NewCode = Omit<Code, 'id' | 'account' | 'redeemed' | 'revoked'>
export const addCode = (
  digest: string,
  { amount, plan, lasts, note, created, expires }: NewCode,
): Statement => ({
  sql: ADD,
  values: [
    idOfCode(digest),
    digest,
    amount,
    plan ?? null,
    lasts ?? null,
    note,
    created,
    expires ?? null,
  ],
  rows: 1,
})
/** Rejects with CODE_SPENT unless the code can be redeemed now. */
export const redeemCode = (id: string, account: number, now: number): Statement => ({
  sql: REDEEM,
  values: [account, now, id, now],
  rows: 1,
  otherwise: 'CODE_SPENT',
})
/** Rejects with CODE_SPENT if it was redeemed or revoked. */
export const revokeCode = (id: string, now: number): Statement => ({
  sql: REVOKE,
  values: [now, id],
  rows: 1,
  otherwise: 'CODE_SPENT',
})
