/** The system's limit of open files of a process. */
import { existsSync, readFileSync } from 'node:fs'
import { report } from 'node:process'

/** Linux tells it in a file; elsewhere a report of Node has it, which takes 10 ms. */
const FILE = '/proc/self/limits'
/** `Number.MAX_SAFE_INTEGER`: unlimited. */
export const openFileLimit = (): number => {
  if (existsSync(FILE)) return limitOf(LINE.exec(readFileSync(FILE, 'utf8'))?.[1])
  const full = Object.assign(report, { excludeNetwork: true }).getReport() as Report
  return limitOf(full.userLimits?.open_files?.soft)
}
const LINE = /^Max open files\s+(\w+)/m
type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
const limitOf = (text: unknown): number => Number(text) || Number.MAX_SAFE_INTEGER
