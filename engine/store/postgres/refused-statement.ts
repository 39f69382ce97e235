/** What an error of PostgreSQL means for the list it came in. https://www.postgresql.org/docs/current/errcodes-appendix.html */
import type { DatabaseError } from 'pg'
import type { TollgateError } from '../../errors.ts'
import { fault } from '../faults.ts'
import type { Refused } from '../sqlite/frames.ts'

// Locks that could not be had in time, deadlocks, full disks, a shutdown: the same list may pass a moment later.
const PASSING = /^(?:40|53|54000|55P03|57|58|25P0[34])/
// A plan or a connection from before something changed: only a fresh connection helps.
const STALE = /^(?:0A000|26000|25006|08|XX)/

/** A plan that was made before a migration. */
export const isOutdated = ({ code = '' }: DatabaseError): boolean =>
  code === '0A000' || code === '26000'
export const isStale = ({ code = '' }: DatabaseError): boolean => STALE.test(code)

export const refusalOf = (error: DatabaseError, at: number): Refused => {
  const { code = '', message } = error
  if (PASSING.test(code)) return { kind: 'unavailable', at, message: `${code} ${message}` }
  if (code.startsWith('23')) return { kind: 'violation', at, names: violated(error) }
  return { kind: 'statement', at, message }
}

/** The names a violated constraint goes by: `table.column`, `column`, and its own; as SQLite has them. */
const violated = ({ code, table, column, constraint, detail = '' }: DatabaseError): string[] => {
  // Key (request, kind)=(…) already exists. The words depend on the server's language, the brackets do not.
  const [, keys = ''] = /\(([^)]*)\)=\(/.exec(detail) ?? []
  const columns = column ? [column] : keys.split(', ').filter(each => /^\w+$/.test(each))
  const own = constraint === undefined ? [] : [constraint]
  if (code === '23503') return ['FOREIGN KEY', ...own]
  if (code === '23514') return own
  return [...new Set([...columns.map(each => `${table}.${each}`), ...columns, ...own])]
}

// A password, a name or a right that is wrong does not mend itself while a gateway starts.
const LASTING = /^(?:28|3D000|42501|22023|42704)/
export const isLasting = (error: unknown): boolean => LASTING.test(codeOf(error))

/** Why the store cannot be reached, as its callers see it. */
export const awayFault = (error: unknown): TollgateError =>
  codeOf(error) === '25006' || codeOf(error) === 'STORE_READ_ONLY'
    ? fault('STORE_READ_ONLY')
    : fault('STORE_UNAVAILABLE', [], { cause: (error as Error | undefined)?.message })
const codeOf = (error: unknown): string => String((error as { code?: string } | undefined)?.code)
