/** Where tests put folders whose files need no disk: a disk costs CPU for each sync, and up to a
 *  second of it for the files of a PostgreSQL server. */
import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const TMPFS = 0x01021994
const ROOM = 2 ** 31

/** A folder in memory where there is room, otherwise that for temporary files. */
export const inMemory = (): string => {
  if (!existsSync('/dev/shm')) return tmpdir()
  const { type, bavail, bsize } = statfsSync('/dev/shm')
  return type === TMPFS && bavail * bsize > ROOM ? '/dev/shm' : tmpdir()
}
