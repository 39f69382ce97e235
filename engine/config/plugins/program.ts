/** Files of the program itself: its plugins, and the files that `tollgate:PATH` names in
 *  routes.yaml. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the program: the clone, or dist/ of the package. */
export const PROGRAM = fileURLToPath(new URL('../../../', import.meta.url)).replace(/[\\/]$/, '')
/** Built ahead by `npm ci` for this program (program/release/prebuild.ts): bundles of the shipped
 *  plugins, compiled schemas and texts. Absent without it, and outside of a clone. */
export const PREBUILT = join(PROGRAM, 'node_modules', '.cache', 'tollgate', 'plugins')
/** Files that `tollgate:NAME` names; `tollgate:FOLDER/NAME` is below the program itself. */
const PROGRAM_CONFIG = join(PROGRAM, 'program', 'config')
const SCHEME = 'tollgate:'

/** The folder of a file of the program that a name in routes.yaml means; undefined for others. */
const programFolder = (name: string): string | undefined => {
  if (!name.startsWith(SCHEME)) return undefined
  return name.includes('/') ? PROGRAM : PROGRAM_CONFIG
}
/** Folder and path that a name in routes.yaml means. `from`: where relative names start. */
export const splitName = (from: string, name: string): readonly [folder: string, path: string] => {
  const folder = programFolder(name)
  return folder === undefined ? [from, name] : [folder, name.slice(SCHEME.length)]
}
export const locate = (from: string, name: string): string => resolve(...splitName(from, name))
/** The name of a path, of the same kind as `like`. */
export const nameLike = (like: string, from: string, path: string): string => {
  const folder = programFolder(like)
  return folder === undefined ? relative(from, path) : SCHEME + relative(folder, path)
}

/** The folder of the shipped plugins; undefined if TOLLGATE_PLUGINS leaves them out. */
export const shippedPlugins = (env: NodeJS.ProcessEnv = process.env): string | undefined =>
  env.TOLLGATE_PLUGINS === 'none' ? undefined : join(PROGRAM, 'plugins')

const createShippedNames = () => {
  let names: ReadonlySet<string> | undefined
  return (): ReadonlySet<string> => {
    const file = join(PROGRAM, 'plugins', 'shipped.json')
    names ??= new Set(JSON.parse(readFileSync(file, 'utf8')) as string[])
    return names
  }
}
/** The files, without their extension, and folders of the shipped plugins and of the code that they
 *  share. */
export const shippedNames = createShippedNames()
/** `path`: absolute. */
export const isShippedFile = (path: string): boolean => {
  const [name = ''] = relative(join(PROGRAM, 'plugins'), path).split(sep)
  return shippedNames().has(basename(name, extname(name)))
}

const CODE_FOLDERS = ['engine', 'plugins', 'program'].map(name => join(PROGRAM, name) + sep)
export const isProgramCode = (path: string): boolean =>
  CODE_FOLDERS.some(folder => path.startsWith(folder))

/** The files that plugins import as `tollgate/NAME`, by NAME. */
export const publicFile = (name: string): string =>
  join(PROGRAM, 'program', 'exports', name + extname(import.meta.url))

interface LoadScript {
  /** Returns the exports of a script, whose name depends on its content. `file`: absolute path. */
  loadScript(file: string): unknown
  importModule(url: string): Promise<{ readonly default: unknown }>
}
const require = createRequire(import.meta.url)
export const { loadScript, importModule } = require('./load-script.cjs') as LoadScript
