/** The system's limit of open files of a process. */
import { readFileSync } from 'node:fs'
import { report } from 'node:process'

/** Linux tells it in a file. Elsewhere only Node's report has it, which takes 10 ms. */
const readLimit = (): number => {
  try {
    const [, soft] =
      /^Max open files\s+(\w+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? limitInReport() : Number(soft) || Number.MAX_SAFE_INTEGER
  } catch {
    return limitInReport()
  }
}
const limitInReport = (): number => {
  // Otherwise the report resolves the host names of all peers.
  const { userLimits } = Object.assign(report, { excludeNetwork: true }).getReport() as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.MAX_SAFE_INTEGER
}

let limit: number | undefined
/** `Number.MAX_SAFE_INTEGER`: unlimited. */
export const openFileLimit = (): number => {
  limit ??= readLimit()
  return limit
}
