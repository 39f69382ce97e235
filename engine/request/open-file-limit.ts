/** The system's limit of open files of a process. */
import { existsSync, readFileSync } from 'node:fs'
import { report } from 'node:process'

/** Linux tells it in a file; elsewhere a report of Node has it, which takes 10 ms. */
const LIMITS = '/proc/self/limits'
/** `Number.MAX_SAFE_INTEGER`: unlimited. */
export const openFileLimit = (): number => {
  const soft = existsSync(LIMITS)
    ? /^Max open files\s+(\w+)/m.exec(readFileSync(LIMITS, 'utf8'))?.[1]
    : (report.getReport() as Report).userLimits?.open_files?.soft
  return Number(soft) || Number.MAX_SAFE_INTEGER
}
type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
