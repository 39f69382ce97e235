/** The statements of failed calls. */
import type { Row, Sql, Statement } from '../../engine/plugin.ts'
import type { Try } from '../views.ts'
import { madeIn, memberOfCall, ofMember } from './call-member.ts'

const sql = (name: string, text: string): Sql => ({ name: `failed calls: ${name}`, text })

/** A call that ended without what its client asked for. */
export interface FailedCall {
  readonly request: string
  /** ms since 1970, at its end. */
  readonly at: number
  /** 0: it had no valid credential. */
  readonly account: number
  readonly key: number | null
  /** Undefined: the account itself made it, or it had no valid credential. */
  readonly member?: number | undefined
  readonly route: string
  /** As the client named it; empty where it named none. */
  readonly model: string
  readonly status: number
  readonly code: string
  /** The error's message as the client got it. */
  readonly message: string
  readonly ms: number
  /** Nanos. */
  readonly cost: bigint
  readonly attempts: readonly Try[]
}

const ADD: Sql = {
  name: 'failed calls: add',
  text: `INSERT INTO failed_calls (request, at, account, key, route, model, status, code, message, ms,
     cost, attempts, omitted, bytes, member) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  joins: true,
}
/** Bytes of the columns without text, and of the entries of the indexes. */
const FIXED_BYTES = 200
/** `omitted`: failed calls of the account before this one that are not kept. */
export const addFailedCall = (call: FailedCall, omitted: number): Statement => {
  const attempts = call.attempts.length > 0 ? JSON.stringify(call.attempts) : ''
  const texts = [call.request, call.route, call.model, call.code, call.message, attempts]
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), FIXED_BYTES)
  return {
    sql: ADD,
    values: [
      call.request,
      call.at,
      call.account,
      call.key,
      call.route,
      call.model,
      call.status,
      call.code,
      call.message,
      call.ms,
      call.cost,
      attempts,
      omitted,
      bytes,
      call.member ?? 0,
    ],
    rows: 1,
    otherwise: 'FAILED_CALL',
  }
}

const OLD = sql('old', 'DELETE FROM failed_calls WHERE at < ?')
const BEYOND = sql(
  'beyond the size',
  `DELETE FROM failed_calls WHERE at <= (SELECT max(s.at) FROM (
     SELECT at, sum(bytes) OVER (ORDER BY at DESC, request DESC) AS total FROM failed_calls) s
   WHERE s.total > ?)`,
)
/** `before`: ms since 1970; `size`: bytes of those that stay. */
export const removeFailedCalls = (before: number, size: number): readonly Statement[] => [
  { sql: OLD, values: [before] },
  { sql: BEYOND, values: [size] },
]

// ---------------------------------------------------------------- reading

const CALLER = madeIn('f')
const COLUMNS = `f.request, f.at, f.account, f.key, ${memberOfCall(CALLER)} AS member, f.route, f.model, f.status, f.code, f.message, f.ms, f.cost AS amount, f.attempts, f.omitted`
/** Those behind the end of the last page: parameters are whether it is the first page (1 or 0), and
 *  both values of that end as texts. Then filters, twice each, null for all: model, key, code; then
 *  the parameters of `more`, further conditions. */
const pageText = (order: 'asc' | 'desc', more = ''): string => `
     AND (CAST(? AS BIGINT) = 1 OR (f.at, f.request) ${order === 'asc' ? '>' : '<'} (CAST(? AS BIGINT), CAST(? AS TEXT)))
     AND (CAST(? AS TEXT) IS NULL OR f.model = ?) AND (CAST(? AS BIGINT) IS NULL OR f.key = ?)
     AND (CAST(? AS TEXT) IS NULL OR f.code = ?)${more}
   ORDER BY f.at ${order}, f.request ${order} LIMIT ?`
const ofAccount = (order: 'asc' | 'desc'): Sql =>
  sql(
    `of an account ${order}`,
    `SELECT ${COLUMNS} FROM failed_calls f WHERE f.account = ? AND f.at >= ? AND f.at < ?${pageText(order, ` AND ${ofMember(CALLER)}`)}`,
  )
/** By order. Parameters: account, from, to, the end of the last page, filters, the member
 *  who made the call (twice, null for all), row count. */
export const FAILED_CALLS_OF = { 'time desc': ofAccount('desc'), 'time asc': ofAccount('asc') }
/** Of all accounts, latest first. Parameters: from, to, account (twice, null for all), the end of
 *  the last page, filters, the member who made the call (twice, null for all), row count.
 *  `withNames` adds columns to the rows of a statement. */
export const failedCallsOfAll = (withNames: (text: string) => string): Sql =>
  sql(
    'of all',
    withNames(`SELECT ${COLUMNS} FROM failed_calls f WHERE f.at >= ? AND f.at < ?
       AND (CAST(? AS BIGINT) IS NULL OR f.account = ?)${pageText('desc', ` AND ${ofMember(CALLER)}`)}`),
  )
/** Parameters: request. */
export const FIND_FAILED_CALL = sql(
  'find',
  `SELECT ${COLUMNS} FROM failed_calls f WHERE f.request = ?`,
)

/** How many failed calls of an account there are, at most ten thousand. Parameters: account, from,
 *  to, filters (model, key and the member who made the call, twice each, null for all). */
export const COUNT_FAILED_CALLS = sql(
  'count',
  `SELECT count(*) AS number FROM (SELECT 1 AS one FROM failed_calls f
   WHERE f.account = ? AND f.at >= ? AND f.at < ?
     AND (CAST(? AS TEXT) IS NULL OR f.model = ?) AND (CAST(? AS BIGINT) IS NULL OR f.key = ?)
     AND ${ofMember(CALLER)} LIMIT 10000) counted`,
)

/** The members of a row that both customers and operators see. */
export const failureOf = (row: Row) => ({
  status: Number(row.status),
  code: String(row.code),
  message: String(row.message),
})
export const attemptsOf = ({ attempts }: Row): readonly Try[] =>
  attempts ? (JSON.parse(String(attempts)) as readonly Try[]) : []

/** The number of the member who made the call of a row; null: the account itself. */
export const memberIn = ({ member }: Row): number | null => Number(member) || null
