/** Reads, lists and writes files on the disk. */
import { globSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Undefined if the path is not a readable file. */
export const readText = (path: string): string | undefined => {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

/** Absolute paths of the files that match a pattern below `root`. */
export const listFiles = (pattern: string, root: string): readonly string[] =>
  globSync(pattern, { cwd: root })
    .map(path => resolve(root, path))
    .filter(path => !isFolder(path))

/** A link to nothing is not a folder: it is a file that cannot be read. */
const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Writes a file whole: another process may read it at any time. */
export const writeAtomically = (path: string, text: string, mode?: number): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode })
  renameSync(draft, path)
}
