/** Copies an embedded store into a file that can replace it. The copy only reads, so the writer can
 *  go on. */
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
