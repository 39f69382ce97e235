/** The exclusive lock of an embedded store. The kernel holds it while the process lives, so it is
 *  never stale. */
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite.ts'

export interface StoreLock {
  /** False if another process has the lock. */
  take(): boolean
  close(): void
}
export const openLock = (file: string): StoreLock => {
  const lock = new DatabaseSync(`${file}.lock`, { timeout: 0 })
  return {
    take() {
      try {
        lock.exec('BEGIN EXCLUSIVE')
        return true
      } catch (error) {
        if (isBusy(error)) return false
        throw error
      }
    },
    close: () => lock.close(),
  }
}
