/** The plugin folders of a configuration: those of the operator, then that of the program. */
import { dirname, join, resolve } from 'node:path'
import type { Document, Json } from '../../plugin.ts'
import { defineProblems, type Problem } from '../problem.ts'
import type { Reading } from '../read.ts'
import { isFolder } from '../watched-paths.ts'
import { indexPaths } from './plugin-files.ts'
import { isProgramCode, PROGRAM, shippedPlugins } from './program.ts'

const problem = defineProblems({
  PLUGIN_FOLDER: 'there is no folder %j; create it, or correct settings.plugins',
})

/** All folders, before validation. */
export const pluginFolders = ({ document, root }: Pick<Reading, 'document' | 'root'>): string[] =>
  withShipped(ownPluginFolders(document), root)
export const withShipped = (folders: readonly string[], root: string): string[] => {
  const shipped = shippedPlugins()
  const isListed = folders.some(each => resolve(root, each) === shipped)
  return shipped === undefined || isListed ? [...folders] : [...folders, shipped]
}

/** The plugin folders of the operator, before validation. */
export const ownPluginFolders = ({ settings }: Document): string[] => {
  const folders = (settings as { plugins?: Json } | undefined)?.plugins
  return Array.isArray(folders) ? folders.filter(each => typeof each === 'string') : ['plugins']
}

/** `plugins` beside routes.yaml may be missing, a folder that is listed may not. */
export const folderProblems = ({ document: { settings }, root, find }: Reading): Problem[] => {
  const folders = (settings as { plugins?: Json } | undefined)?.plugins
  return (Array.isArray(folders) ? folders : []).flatMap((folder, index) =>
    typeof folder !== 'string' || isFolder(resolve(root, folder))
      ? []
      : [problem('PLUGIN_FOLDER', find(['settings', 'plugins', index]).place('value'), [folder])],
  )
}

/** Absolute paths to watch for added and changed plugins. The code of the program changes with an
 *  upgrade only: it is watched only where routes.yaml lies beside it. `inputs`: absolute paths of
 *  bundled files. */
export const pluginPaths = (
  folders: readonly string[],
  inputs: readonly string[],
  root: string,
): string[] => {
  const isWatched = (path: string) => root === PROGRAM || !isProgramCode(path)
  const files = inputs.filter(isWatched)
  return [
    ...folders.map(folder => resolve(root, folder)),
    ...indexPaths(folders, root).filter(isWatched),
    ...files,
    ...new Set(files.map(each => join(dirname(each), CODE))),
  ]
}
/** A file that a plugin imports may not exist yet. */
const CODE = '*.{ts,mts,cts,js,mjs,cjs,json}'
