/** Instance lock: allows one gateway per data folder. Limits, the writer and CLI commands rely on
 *  it. */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { StoreLock } from '../../store/sqlite/store-lock.ts'
import { findRunning, isAlive } from '../running-gateway.ts'

/** The lock of a data folder, or why this process must not use the folder. */
export type InstanceLock = { readonly lock: StoreLock | undefined } | { readonly reason: string }

/** Takes the lock of a data folder until this process ends. Of several gateways that start at once
 *  none has a run file yet: the kernel decides. */
export const takeInstanceLock = async (data: string): Promise<InstanceLock> => {
  const reason = await checkInstanceLock(data)
  if (reason !== undefined) return { reason }
  const { openLock } = await import('../../store/sqlite/store-lock.ts')
  const lock = lockFolder(data, openLock)
  if (lock !== 'busy') return { lock }
  return {
    reason: `the data folder "${data}" is in use by another gateway, which starts or ends now; stop that one, or set settings.data to another folder`,
  }
}
/** Undefined for a folder that cannot be written: what writes to it reports that. */
const lockFolder = (
  data: string,
  openLock: (file: string) => StoreLock,
): StoreLock | 'busy' | undefined => {
  let mask: number | undefined
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    mask = process.umask(0o177)
    const lock = openLock(join(data, 'gateway'))
    if (lock.take()) return lock
    lock.close()
    return 'busy'
  } catch {
    return undefined
  } finally {
    if (mask !== undefined) process.umask(mask)
  }
}

/** Returns why this process must not use the data folder, with the remedy; undefined if it may. */
export const checkInstanceLock = async (data: string): Promise<string | undefined> => {
  const other = findRunning(resolve(data))
  if (!other || other.pid === process.pid) return undefined
  if (!(await isAlive(other))) return undefined
  return `the data folder "${data}" is in use by another gateway (process ${other.pid}, ${other.url}); stop that one, or set settings.data to another folder`
}
