/** The folder where a command keeps bundled plugins and compiled schemas. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pruneBundles } from '../processes/history.ts'
import { makeFolder } from '../store/make-folder.ts'

/** Calls `run` with the bundle folder of the data folder. Without one it is the user's, so that
 *  `check` bundles the plugins once, else a temporary folder. */
export const withCache = async <T>(
  data: string,
  run: (folder: string) => Promise<T>,
): Promise<T> => {
  if (isWritable(data)) return run(resolve(data, 'cache'))
  const shared = userCache()
  if (shared !== undefined) {
    pruneBundles(shared, [])
    return run(shared)
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  try {
    return await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
/** The cache folder of the user; undefined if it cannot be made. */
const userCache = (): string | undefined => {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tollgate')
  try {
    makeFolder(folder, 0o700)
    accessSync(folder, constants.W_OK)
    return folder
  } catch {
    return undefined
  }
}

/** Whether bundles can be written to a data folder; not so in a read-only checkout. */
const isWritable = (data: string): boolean => {
  const cache = resolve(data, 'cache')
  try {
    const folder = existsSync(cache) ? cache : data
    accessSync(folder, constants.W_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}
