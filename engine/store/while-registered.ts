/** Statements that apply only while the writing process is registered in the store. */
import type { Sql } from '../plugin.ts'

/** Table of the processes of an installation; `id` is the name of the process. */
export const PROCESSES_TABLE = 'tollgate_processes'

/** `text` selects from `PROCESSES`. On PostgreSQL the row is locked until the commit; otherwise a
 *  concurrent removal of the process would miss rows that are not committed yet. */
export const whileRegistered = (name: string, text: string, suffix = ''): Sql => ({
  name,
  text: `${text} ${suffix}`,
  postgres: `${text} FOR KEY SHARE OF ${PROCESSES_TABLE} ${suffix}`,
})
