/** How this program was started, for the commands that it prints: a person who pastes one runs this
 *  program, and not a package of that name from the registry. */
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { PROGRAM } from '../../config/plugins/program.ts'

/** Of the clone, or of the package, whose code is in dist/. */
const SCRIPTS = [join(PROGRAM, 'engine/bin.cjs'), join(PROGRAM, '../engine/bin.cjs')]
const NAME = 'tollgate'
const INSTALLED = join('node_modules', '.bin')

/** The words before the name of a command that run this program in `folder`: `tollgate` if PATH
 *  leads to it, `npx --no-install tollgate` if it is installed there, else `node FILE`. */
export const programIn = (
  folder: string = process.cwd(),
  env: NodeJS.ProcessEnv = process.env,
): string => {
  const script = SCRIPTS.map(realPathOf).find(path => path !== undefined) ?? ''
  if (isOnPath(script, env)) return NAME
  if (isInstalledIn(resolve(folder), script)) return `npx --no-install ${NAME}`
  const near = relative(folder, script)
  const isBelow = near !== '' && !near.startsWith('..') && !isAbsolute(near)
  return `node ${quoted(isBelow ? near : script)}`
}

/** Texts name commands as `tollgate COMMAND`: the same text with the words that run this program.
 *  `Tollgate`, paths and names of databases stay unchanged. */
export const asStarted = (text: string, program: () => string = programIn): string =>
  text
    .split('\n')
    .map(line => (EXCERPT.test(line) ? line : line.replaceAll(COMMAND, () => `${program()} `)))
    .join('\n')
const COMMAND = /(?<![\w"'/.-]|--no-install )tollgate (?=[a-z]|COMMAND)/g
/** A line of a file, as problems show it. */
const EXCERPT = /^\s*\d+ \| /

/** npm puts the folders of installed packages on the PATH of what it starts: a shell lacks them. */
const isOnPath = (script: string, { PATH = '' }: NodeJS.ProcessEnv): boolean => {
  const folders = PATH.split(delimiter).filter(each => each !== '' && !each.endsWith(INSTALLED))
  const first = folders.map(each => join(each, NAME)).find(existsSync)
  return first !== undefined && realPathOf(first) === script
}

/** As npm looks for it: in the folder, then above it. */
const isInstalledIn = (folder: string, script: string): boolean => {
  const file = join(folder, INSTALLED, NAME)
  if (existsSync(file)) return realPathOf(file) === script
  const above = dirname(folder)
  return above !== folder && !isProject(folder) && isInstalledIn(above, script)
}
const isProject = (folder: string): boolean =>
  existsSync(join(folder, 'package.json')) || existsSync(join(folder, 'node_modules'))

const realPathOf = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
const quoted = (path: string): string =>
  /^[\w@%+=:,.~/-]+$/.test(path.replaceAll(sep, '/')) ? path : `'${path.replaceAll("'", "'\\''")}'`
