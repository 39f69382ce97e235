/** Finds the files in the plugin folders that may hold a plugin. */
import { globSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { shownPath } from '../snapshot/shown-path.ts'

/** A plugin is NAME.ts directly in a plugin folder, or NAME/index.ts for one of several files.
 *  A file or an index that exports no default is shared by plugins, and is none. */
const SOURCE = /^[^._].*(?<!\.test|\.d)\.(?:ts|js|mjs)$/
const FOLDER = /^(?!node_modules$)[^._]/
const INDEXES = ['index.ts', 'index.js', 'index.mjs']

export interface Entry {
  readonly name: string
  readonly path: string
  /** As an operator would name it. */
  readonly file: string
}
/** Of one plugin folder; a folder that is not there holds none. */
export const entriesIn = (folder: string, root: string): Entry[] => {
  const directory = resolve(root, folder)
  return globSync('*', { cwd: directory })
    .sort()
    .flatMap(base => {
      const path = sourceAt(directory, base)
      if (path === undefined) return []
      const name = dirname(path) === directory ? basename(base, extname(base)) : base
      return [{ name, path, file: shownPath(root, path) }]
    })
}
/** The file that an entry of a plugin folder begins with, if it may hold a plugin. */
const sourceAt = (directory: string, base: string): string | undefined => {
  const path = join(directory, base)
  if (SOURCE.test(base) && isFile(path)) return path
  if (!FOLDER.test(base)) return undefined
  return INDEXES.map(index => join(path, index)).find(isFile)
}
/** Where an index may appear that makes a folder a plugin: absolute, for the watch. */
export const indexPlaces = (folders: readonly string[], root: string): string[] =>
  folders.flatMap(folder =>
    globSync('*/', { cwd: resolve(root, folder) }).flatMap(base =>
      FOLDER.test(base) ? INDEXES.map(index => resolve(root, folder, base, index)) : [],
    ),
  )
/** A pipe or a device would be read for ever; a link to a file is as good as the file. */
const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
