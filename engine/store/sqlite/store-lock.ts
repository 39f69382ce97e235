/** The exclusive lock of an embedded store. The kernel holds it while the process lives, so it is
 *  never stale. */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { isBusy } from './sqlite.ts'

export interface StoreLock {
  /** False if another process has the lock. */
  take(): boolean
  close(): void
}
/** Only the owner of its folder may read and write a new lock file. */
export const openLock = (file: string): StoreLock => {
  createLockFile(`${file}.lock`)
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

/** Creates the file if it is absent. An existing one is not opened: to close it would release the
 *  lock that this process may hold on it. SQLite reports why a file cannot be created. */
const createLockFile = (path: string): void => {
  try {
    const file = openSync(path, 'ax', 0o600)
    try {
      giveToOwner(file, dirname(path))
    } finally {
      closeSync(file)
    }
  } catch {}
}
/** A command that root runs must not lock out the user of the gateway. */
const giveToOwner = (file: number, folder: string): void => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  if (uid !== 0) fchownSync(file, uid, gid)
}

/** ms between two attempts to take the lock. */
const INTERVAL = 25
/** 10 s. */
const ATTEMPTS = 400
/** The writer of an earlier command may still be closing the store, and it releases the lock at the
 *  end. Resolves to false if another process keeps the lock. */
export const takeLockInTime = async (lock: StoreLock): Promise<boolean> => {
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    if (lock.take()) return true
    await setTimeout(INTERVAL)
  }
  return lock.take()
}
