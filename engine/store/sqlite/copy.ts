/** Copies an embedded store into a file that can replace it. The copy only reads, so the writer can
 *  go on. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fault } from '../faults.ts'

export const copyStore = (from: string, to: string): void => {
  // Only the owner may read the copy.
  const previousUmask = process.umask(0o177)
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5_000 })
  try {
    source.prepare('VACUUM INTO ?').run(to)
  } finally {
    source.close()
    process.umask(previousUmask)
  }
  const copy = new DatabaseSync(to, { readOnly: true })
  try {
    const { integrity_check: integrity } = copy.prepare('PRAGMA integrity_check').get() ?? {}
    if (integrity !== 'ok') throw fault('STORE_COPY', [to, integrity])
  } finally {
    copy.close()
  }
}

/** Whether a store holds anything: a table of a plugin with a row. */
export const hasRows = (file: string): boolean => {
  if (!existsSync(file)) return false
  const store = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const tables = store
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name))
    return tables
      .filter(name => !/^(sqlite|tollgate)_|^credential_changes$/.test(name))
      .some(name => store.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined)
  } finally {
    store.close()
  }
}
