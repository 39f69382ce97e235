/** Finds plugin files in the plugin folders. */
import { globSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { formatPath } from '../format-path.ts'
import { isShippedFile, shippedPlugins } from './program.ts'

/** A plugin is NAME.ts directly in a plugin folder, or NAME/index.ts for one of several files.
 *  A file or an index without a default export is shared code, not a plugin. */
const SOURCE = /^[^._].*(?<!\.test|\.d)\.(?:ts|js|mjs)$/
const FOLDER = /^(?!node_modules$)[^._]/
const INDEXES = ['index.ts', 'index.js', 'index.mjs']

export interface PluginEntry {
  readonly name: string
  readonly path: string
  /** Displayed path. */
  readonly file: string
  /** Whether it comes with the program: a plugin of the operator with its name replaces it. */
  readonly isShipped: boolean
}
/** Entries of one plugin folder; none if it does not exist. */
export const entriesIn = (folder: string, root: string): PluginEntry[] => {
  const directory = resolve(root, folder)
  // An operator may keep plugins beside the shipped ones.
  const mayBeShipped = directory === shippedPlugins()
  return globSync('*', { cwd: directory })
    .sort()
    .flatMap(base => {
      const path = sourceAt(directory, base)
      if (path === undefined) return []
      const name = dirname(path) === directory ? basename(base, extname(base)) : base
      const isShipped = mayBeShipped && isShippedFile(path)
      return [{ name, path, file: formatPath(root, path), isShipped }]
    })
}
/** The main file of an entry of a plugin folder, if it may be a plugin. */
const sourceAt = (directory: string, base: string): string | undefined => {
  const path = join(directory, base)
  if (SOURCE.test(base) && isFile(path)) return path
  if (!FOLDER.test(base)) return undefined
  return INDEXES.map(index => join(path, index)).find(isFile)
}
/** Absolute paths to watch: an index file at one of them makes its folder a plugin. */
export const indexPaths = (folders: readonly string[], root: string): string[] =>
  folders.flatMap(folder =>
    globSync('*/', { cwd: resolve(root, folder) }).flatMap(base =>
      FOLDER.test(base) ? INDEXES.map(index => resolve(root, folder, base, index)) : [],
    ),
  )
/** Whether a path is a regular file or a link to one; reading a pipe or device would not end. */
const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
