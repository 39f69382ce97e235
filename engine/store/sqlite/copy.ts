/** Copies an embedded store into a file that can take its place. Reads only: its writer goes on writing. */
import { DatabaseSync } from 'node:sqlite'
import { fault } from '../faults.ts'

export const copyStore = (from: string, to: string): void => {
  // It holds what the store holds: nobody else may read it.
  const before = process.umask(0o177)
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5_000 })
  try {
    source.prepare('VACUUM INTO ?').run(to)
  } finally {
    source.close()
    process.umask(before)
  }
  const copy = new DatabaseSync(to, { readOnly: true })
  try {
    const { integrity_check: found } = copy.prepare('PRAGMA integrity_check').get() ?? {}
    if (found !== 'ok') throw fault('STORE_COPY', [to, found])
  } finally {
    copy.close()
  }
}
