/** The member who made a call, as charges, failed calls and sums of calls store it: a fact of the
 *  call that stays when its key passes to another member. */
import { memberOfKey } from '../credentials/members.ts'

/** Expressions for the columns of a row. `member`: its number, 0 for the account itself; null: a
 *  version that did not store it wrote the row. */
interface MadeBy {
  readonly key: string
  readonly member: string
}
/** Of a table with both columns. */
export const madeIn = (row: string): MadeBy => ({ key: `${row}.key`, member: `${row}.member` })

/** The member who made a call, as an expression; 0: the account itself. Rows that store none have
 *  the member to whom the key belongs now. */
export const memberOfCall = ({ key, member }: MadeBy): string =>
  `coalesce(${member}, ${memberOfKey(key)})`
/** A condition on calls; its parameter, twice: a member, or null for all. */
export const ofMember = (call: MadeBy): string =>
  `(CAST(? AS BIGINT) IS NULL OR ${memberOfCall(call)} = ?)`

/** Above the number of any key. */
const KEYS = 2 ** 32
/** One number for a key and a member. Tables of sums have it in the column `key`, so that a key
 *  that moves has a sum for each of its members: gateways of earlier versions add to these tables
 *  by their primary keys, to which no column can be added. Their rows have the key alone. */
export const callerOf = ({ key, member }: MadeBy): string =>
  `coalesce(${key}, 0) + coalesce(${member} + 1, 0) * ${KEYS}`
/** The key and the member in that number. */
export const madeByCaller = (caller: string): MadeBy => ({
  key: `(${caller} % ${KEYS})`,
  member: `(nullif(${caller} / ${KEYS}, 0) - 1)`,
})
/** The number as an expression with two parameters: a key and a member, 0 without one. */
export const CALLER_VALUE = callerOf({ key: 'CAST(? AS BIGINT)', member: 'CAST(? AS BIGINT)' })
