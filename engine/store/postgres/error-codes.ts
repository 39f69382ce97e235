/** Classifies PostgreSQL errors by code.
 *  https://www.postgresql.org/docs/current/errcodes-appendix.html */
import type { DatabaseError } from 'pg'
import type { TollgateError } from '../../errors.ts'
import { fault } from '../faults.ts'
import type { Refusal } from '../sqlite/frames.ts'

// Temporary: lock timeouts, deadlocks, full disks, a shutdown.
const TEMPORARY = /^(?:40|53|54000|55P03|57|58|25P0[34])/
// The plan or the connection is outdated: only a new connection helps.
const STALE = /^(?:0A000|26000|25006|08|XX)/

/** Whether the plan was prepared before a migration. */
export const isOutdated = ({ code = '' }: DatabaseError): boolean =>
  code === '0A000' || code === '26000'
export const isStale = ({ code = '' }: DatabaseError): boolean => STALE.test(code)

export const refusalOf = (error: DatabaseError, at: number): Refusal => {
  const { code = '', message } = error
  if (TEMPORARY.test(code)) return { kind: 'unavailable', at, message: `${code} ${message}` }
  if (code.startsWith('23'))
    return {
      kind: 'violation',
      at,
      names: violatedNames(error),
      ...(code === '23505' && { unique: true }),
    }
  return { kind: 'statement', at, message }
}

/** Names of a violated constraint, as with SQLite: `table.column`, `column`, and its own. */
const violatedNames = ({
  code,
  table,
  column,
  constraint,
  detail = '',
}: DatabaseError): string[] => {
  // "Key (request, kind)=(…) already exists." The text depends on the server's language, the
  // brackets do not.
  const [, keys = ''] = /\(([^)]*)\)=\(/.exec(detail) ?? []
  const columns = column ? [column] : keys.split(', ').filter(each => /^\w+$/.test(each))
  const ownName = constraint === undefined ? [] : [constraint]
  if (code === '23503') return ['FOREIGN KEY', ...ownName]
  if (code === '23514') return ownName
  return [...new Set([...columns.map(each => `${table}.${each}`), ...columns, ...ownName])]
}

// Permanent: a wrong password, database name or privilege.
const PERMANENT = /^(?:28|3D000|42501|22023|42704)/
export const isPermanent = (error: unknown): boolean => PERMANENT.test(codeOf(error))

/** Whether the server is a standby, or set so. */
export const isReadOnly = (error: unknown): boolean =>
  codeOf(error) === '25006' || codeOf(error) === 'STORE_READ_ONLY'

export const isStoreFault = (error: unknown): error is Error => codeOf(error).startsWith('STORE_')
/** Whether another attempt to open the store would fail too. A standby may become the primary, and
 *  connections of a pool may become free. */
export const isFinal = (error: unknown): boolean =>
  isPermanent(error) ||
  (isStoreFault(error) && !isReadOnly(error) && codeOf(error) !== 'STORE_POOL_SIZE')

/** The fault for callers while the store cannot be reached. */
export const unavailableFault = (error: unknown): TollgateError =>
  isReadOnly(error)
    ? fault('STORE_READ_ONLY')
    : fault('STORE_UNAVAILABLE', [], { cause: (error as Error | undefined)?.message })
const codeOf = (error: unknown): string => String((error as { code?: string } | undefined)?.code)
