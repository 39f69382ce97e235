/** Statements that apply only while the process that writes them is registered in the store. */
import type { Sql } from '../plugin.ts'

/** The table of an installation's processes: a row each, whose `id` is the process's name. */
export const PROCESSES = 'tollgate_processes'

/** `text` selects from `PROCESSES`. The row of the process stays until this is committed: where many
 *  write at once it is locked, or its removal beside this statement would miss what is not committed. */
export const whileRegistered = (name: string, text: string, rest = ''): Sql => ({
  name,
  text: `${text} ${rest}`,
  postgres: `${text} FOR KEY SHARE OF ${PROCESSES} ${rest}`,
})
