/** Finds all paths at which a change of a file can appear, through links. */
import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** Absolute paths to watch: a file by its name, a folder as `folder/*`, a missing path by its first
 *  missing part. The last part of an input path may be a pattern. */
export const findWatchedPaths = (paths: readonly string[]): string[] => {
  const visited = new Set<string>()
  const result = new Set<string>()
  const follow = (path: string): void => {
    if (visited.has(path)) return
    visited.add(path)
    const folder = nearestFolder(path)
    const [name = ''] = relative(folder, path).split(sep)
    result.add(join(folder, name === '' ? '*' : name))
    for (let part = path; part !== dirname(part); part = dirname(part)) {
      if (!statOf(part, lstatSync)?.isSymbolicLink()) continue
      result.add(part)
      follow(join(resolve(dirname(part), readlinkSync(part)), relative(part, path)))
    }
  }
  for (const path of paths) follow(path)
  return [...result].sort()
}
const nearestFolder = (path: string): string => {
  let folder = path
  while (folder !== dirname(folder) && !isFolder(folder)) folder = dirname(folder)
  return folder
}

/** Undefined if the path does not exist, is not accessible or is a link to itself. */
export const statOf = (path: string, stat: typeof statSync | typeof lstatSync = statSync) => {
  try {
    return stat(path)
  } catch {
    return undefined
  }
}
export const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true
