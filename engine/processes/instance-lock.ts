/** One gateway to a data folder: its limits, its writer and its operator's commands all go by that. */
import { resolve } from 'node:path'
import { askHealth, findRunning } from './running-gateway.ts'

/** Why this process must not serve from there, in one sentence with the way out; undefined: it may. */
export const claimedBy = async (data: string): Promise<string | undefined> => {
  const other = findRunning(resolve(data))
  if (!other || other.pid === process.pid) return undefined
  // Who ended without a word left an announcement: somebody else may listen there by now.
  const health = await askHealth(other, AbortSignal.timeout(PATIENCE)).catch(() => undefined)
  if (health?.pid !== other.pid) return undefined
  return `the data folder "${data}" is another gateway's (process ${other.pid}, ${other.url}); stop that one, or give this one a folder of its own: settings.data`
}
/** ms. */
const PATIENCE = 2_000
