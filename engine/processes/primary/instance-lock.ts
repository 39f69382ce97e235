/** Instance lock: allows one gateway per data folder. Limits, the writer and CLI commands rely on
 *  it. */
import { resolve } from 'node:path'
import { findRunning, requestHealth } from '../running-gateway.ts'

/** Returns why this process must not use the data folder, with the remedy; undefined if it may. */
export const checkInstanceLock = async (data: string): Promise<string | undefined> => {
  const other = findRunning(resolve(data))
  if (!other || other.pid === process.pid) return undefined
  // A gateway that crashed leaves its run.json, and another program may use its port by now.
  const health = await requestHealth(other, AbortSignal.timeout(HEALTH_TIMEOUT)).catch(
    () => undefined,
  )
  if (health?.pid !== other.pid) return undefined
  return `the data folder "${data}" is in use by another gateway (process ${other.pid}, ${other.url}); stop that one, or set settings.data to another folder`
}
/** ms. */
const HEALTH_TIMEOUT = 2_000
