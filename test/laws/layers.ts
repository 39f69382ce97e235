/** Who may import whom: the walls between engine, plugins and the folders plugins share. */
import type { Import, SourceFile } from './imports.ts'
import { engineFolder, SUBSYSTEMS } from './sizes.ts'

/** The ladder of folders that plugins share; those not named stand at the ground, step 0.
 *  A folder may import itself and every lower step, never its own step's neighbours. */
const LADDER: Readonly<Record<string, number>> = {
  conversion: 1,
  billing: 1,
  catalogue: 2,
  ledger: 2,
}
/** Pages of the contract of plugins behind engine/plugin.ts. Each imports types of those before it. */
const PAGES = ['engine/store/contract.ts', 'engine/cli/contract.ts']
/** Small functions that the engine and plugins share. */
const KITS = ['engine/kit.ts', 'engine/cli/kit.ts', 'engine/config/nearest.ts']
/** What every plugin and every shared folder may see of the engine, and the words plugins meet at. */
const OPEN = [
  'engine/plugin.ts',
  ...PAGES,
  ...KITS,
  'engine/errors.ts',
  'engine/store/while-registered.ts',
  'plugins/slots.ts',
]

/** Folders whose index exports a plugin: `plugins/NAME/index.ts`. The others hold what plugins share. */
export const pluginFolders = (files: readonly SourceFile[]): ReadonlySet<string> =>
  new Set(
    files.flatMap(({ path, text }) => {
      const [, name] = /^plugins\/([^/]+)\/index\.ts$/.exec(path) ?? []
      return name !== undefined && /^export default /m.test(text) ? [name] : []
    }),
  )

/** Why this import breaks a wall, or undefined. `plugins`: see `pluginFolders`. */
export const wallBroken = (
  { from, to, relative, typeOnly }: Import,
  plugins: ReadonlySet<string>,
): string | undefined => {
  const page = [...PAGES, 'engine/plugin.ts'].indexOf(from)
  if (page >= 0)
    return typeOnly && PAGES.slice(0, page).includes(to)
      ? undefined
      : 'the contract imports only types of its other pages'
  if (KITS.includes(from) && !(typeOnly && to === 'engine/plugin.ts') && !KITS.includes(to))
    return 'a kit is bundled into plugins: it imports only types of the contract'
  if (!relative) return undefined
  if (from.startsWith('engine/'))
    return /^(?:engine|schemas)\//.test(to)
      ? subsystemWall(from, to, typeOnly)
      : `engine never imports ${to}`
  if (!from.startsWith('plugins/')) return undefined
  if (from === 'plugins/slots.ts' && to !== 'engine/plugin.ts')
    return 'slots.ts holds words only and may import nothing but engine/plugin.ts'
  if (OPEN.includes(to)) return undefined
  if (!to.startsWith('plugins/')) return `of the engine a plugin may import only ${OPEN.join(', ')}`
  return folderWall(from, to, plugins)
}

/** The request part needs the subsystems' types alone. */
const subsystemWall = (from: string, to: string, typeOnly: boolean): string | undefined => {
  const [own = '', target = ''] = [from, to].map(engineFolder)
  if (!SUBSYSTEMS.includes(target) || SUBSYSTEMS.includes(own)) return undefined
  return typeOnly ? undefined : `of engine/${target}/ the request part imports only types`
}

const folderWall = (from: string, to: string, plugins: ReadonlySet<string>): string | undefined => {
  const [own, target] = [folderOf(from), folderOf(to)]
  if (own !== undefined && own === target)
    return own === 'formats' ? formatWall(from, to) : undefined
  if (target === undefined || plugins.has(target))
    return `no plugin imports another plugin: move what ${from} shares with ${to} into a shared folder`
  if (own === undefined || plugins.has(own)) return undefined
  return (LADDER[target] ?? 0) < (LADDER[own] ?? 0)
    ? undefined
    : `plugins/${own}/ may not import plugins/${target}/: the ladder goes down only`
}

/** A format knows only the hub: plugins/formats/*.ts, and its own folder. */
const formatWall = (from: string, to: string): string | undefined => {
  const [own, other] = [from, to].map(path => path.split('/')[2] ?? '')
  const known = other?.endsWith('.ts') || own === other || from === 'plugins/formats/index.ts'
  return known ? undefined : `the format ${own} may know only the hub, not ${other}`
}

const folderOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1]
