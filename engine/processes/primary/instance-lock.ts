/** Instance lock: allows one gateway per data folder. Limits, the writer and CLI commands rely on
 *  it. */
import { resolve } from 'node:path'
import { findRunning, isAlive } from '../running-gateway.ts'

/** Returns why this process must not use the data folder, with the remedy; undefined if it may. */
export const checkInstanceLock = async (data: string): Promise<string | undefined> => {
  const other = findRunning(resolve(data))
  if (!other || other.pid === process.pid) return undefined
  if (!(await isAlive(other))) return undefined
  return `the data folder "${data}" is in use by another gateway (process ${other.pid}, ${other.url}); stop that one, or set settings.data to another folder`
}
