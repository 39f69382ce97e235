/** Creates folders, as `mkdir -p` does. */
import { mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Not `recursive: true`: Node never returns from it if a parent refuses without end (/proc).
 *  Throws the error of the system. */
export const makeFolder = (path: string, mode?: number): void => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(resolve(path))
  if (!exists(parent)) makeFolder(parent, mode)
  try {
    mkdirSync(path, mode)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Another process was faster.
    if (code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}

/** Throws the error of the system if files cannot be created in the folder, or the folder itself
 *  cannot be created. Leaves nothing behind. */
export const checkWritable = (path: string): void => {
  let folder = resolve(path)
  while (!exists(folder) && folder !== dirname(folder)) folder = dirname(folder)
  rmdirSync(mkdtempSync(join(folder, '.tollgate-')))
}
