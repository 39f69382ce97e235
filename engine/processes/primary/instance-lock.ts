/** Instance lock: allows one gateway per data folder. Limits, the writer and CLI commands rely on
 *  it; `move` and `restore` take it, so that no gateway starts meanwhile. */
import { accessSync, constants, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isCode } from '../../kit.ts'
import type { StoreLock } from '../../store/sqlite/store-lock.ts'
import { findRunning, isAlive } from '../running-gateway.ts'

/** The lock of a data folder, or why this process must not use the folder. */
export type InstanceLock = { readonly lock: StoreLock | undefined } | { readonly reason: string }

/** Takes the lock of a data folder until this process ends. Of several gateways that start at once
 *  none has a run file yet: the kernel decides. */
export const takeInstanceLock = async (data: string): Promise<InstanceLock> => {
  const reason = await checkInstanceLock(data)
  if (reason !== undefined) return { reason }
  const file = join(data, 'gateway')
  if (isOfAnotherUser(`${file}.lock`))
    return {
      reason: `this user may not write ${file}.lock, so another gateway on this data folder would not be noticed; start the gateway as the user of the folder, or give the file to this one`,
    }
  const { openLock } = await import('../../store/sqlite/store-lock.ts')
  const lock = lockFolder(data, file, openLock)
  if (lock !== 'busy') return { lock }
  return {
    reason: `the data folder "${data}" is in use by another gateway, which starts or ends now, by \`tollgate move\` or \`tollgate restore\`, or its file system has no locks, as some network file systems; stop that program, or set settings.data to another folder`,
  }
}
const isOfAnotherUser = (lockFile: string): boolean => {
  try {
    accessSync(lockFile, constants.R_OK | constants.W_OK)
    return false
  } catch (error) {
    return isCode(error, 'EACCES', 'EPERM')
  }
}
/** Undefined for a folder that cannot be written: what writes to it reports that. */
const lockFolder = (
  data: string,
  file: string,
  openLock: (file: string) => StoreLock,
): StoreLock | 'busy' | undefined => {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const lock = openLock(file)
    if (lock.take()) return lock
    lock.close()
    return 'busy'
  } catch {
    return undefined
  }
}

/** Returns why this process must not use the data folder, with the remedy; undefined if it may. */
export const checkInstanceLock = async (data: string): Promise<string | undefined> => {
  const other = findRunning(resolve(data))
  if (!other || other.pid === process.pid) return undefined
  if (!(await isAlive(other))) return undefined
  return `the data folder "${data}" is in use by another gateway (process ${other.pid}, ${other.url}); stop that one, or set settings.data to another folder`
}
