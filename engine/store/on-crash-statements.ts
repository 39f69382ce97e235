/** Applies the on-crash statements of a dead process: each list once, with the progress of its
 *  exchange. */
import type { Log, Sql } from '../plugin.ts'
import type { OpenDatabase } from './open-database.ts'
import { type EncodedStatement, toStatement, withProgress } from './values.ts'

const sql = (name: string, text: string): Sql => ({ name: `on-crash statements: ${name}`, text })
const FIND = sql(
  'find',
  'SELECT name, statements FROM tollgate_wills WHERE client = ? ORDER BY name',
)
const REMOVE = sql('remove', 'DELETE FROM tollgate_wills WHERE client = ? AND name = ?')
/** Another process has applied the list. */
const APPLIED = 'ALREADY_APPLIED'
/** Store failures, or unknown results: the list is tried again at the next check. */
const LATER: ReadonlySet<unknown> = new Set(['STORE_UNAVAILABLE', 'STORE_UNKNOWN'])

interface CrashContext {
  readonly database: Pick<OpenDatabase, 'read' | 'write' | 'process'>
  readonly log: Log
}
/** `key`: of the dead process. `here`: whether this machine can read its progress counts. */
export const applyOnCrashStatements = async (
  { database, log }: CrashContext,
  key: string,
  here: boolean,
): Promise<void> => {
  const rows = await database.read(FIND, [key])
  if (rows.length === 0) return
  const progress = here ? database.process?.folder?.progressOf(key) : undefined
  const apply = async (name: string, text: string): Promise<void> => {
    const statements = withProgress(
      JSON.parse(text) as readonly EncodedStatement[],
      progress?.get(name),
    )
    const remove = { sql: REMOVE, values: [key, name] }
    try {
      const first = { ...remove, rows: 1, otherwise: APPLIED }
      await database.write([first, ...statements.map(toStatement)])
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string }
      if (code === APPLIED) return
      if (LATER.has(code)) throw error
      // The exchange was settled before the crash, or the rows are gone.
      log.warn({ name, code, message }, 'on-crash statements were refused')
      await database.write([remove])
    }
  }
  await Promise.all(rows.map(row => apply(String(row.name), String(row.statements))))
}
