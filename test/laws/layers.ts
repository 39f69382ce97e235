/** Which folder may import which: engine, plugins, and the folders that plugins share. */
import type { Import, SourceFile } from './imports.ts'
import { engineFolder, SUBSYSTEMS } from './sizes.ts'

/** Levels of the folders that plugins share; 0 by default. A folder may import itself and folders
 *  of lower levels. */
const LEVELS: Readonly<Record<string, number>> = {
  conversion: 1,
  billing: 1,
  calls: 1,
  embeddings: 1,
  tagging: 1,
  finders: 1,
  webhooks: 1,
  catalogue: 2,
  ledger: 3,
  'action-log': 4,
  'file-store': 4,
  'first-run': 4,
  pieces: 4,
  'identity-provider': 5,
  operator: 5,
  'declared-accounts': 6,
}
/** Further parts of the plugin contract. Each may import types of the parts before it. */
const CONTRACT_PARTS = [
  'engine/store/contract.ts',
  'engine/processes/contract.ts',
  'engine/request-log/contract.ts',
  'engine/cli/contract.ts',
  'engine/egress/contract.ts',
  'engine/request/contract.ts',
]
/** Small functions that the engine and plugins share. */
const KITS = [
  'engine/kit.ts',
  'engine/config/shape.ts',
  'engine/cli/kit.ts',
  'engine/config/nearest.ts',
]
/** Files that every plugin and every shared folder may import. */
export const PUBLIC = [
  'engine/plugin.ts',
  ...CONTRACT_PARTS,
  ...KITS,
  'engine/errors.ts',
  'engine/observe/secret-text.ts',
  'engine/request-log/files.ts',
  'engine/request-log/lines.ts',
  'engine/request-log/writer.ts',
  'engine/store/make-folder.ts',
  'engine/store/while-registered.ts',
  'plugins/slots.ts',
  'plugins/shapes.ts',
  'plugins/views.ts',
]

/** The contract, and what describes the rows of APIs. */
const isGround = (path: string): boolean =>
  ['engine/plugin.ts', 'plugins/shapes.ts'].includes(path) || path.startsWith('plugins/rows/')

/** Folders whose index exports a plugin: `plugins/NAME/index.ts`. Plugins share the others. */
export const pluginFolders = (files: readonly SourceFile[]): ReadonlySet<string> =>
  new Set(
    files.flatMap(({ path, text }) => {
      const [, name] = /^plugins\/([^/]+)\/index\.ts$/.exec(path) ?? []
      return name !== undefined && /^export default /m.test(text) ? [name] : []
    }),
  )

/** Why this import is not allowed, or undefined. `plugins`: see `pluginFolders`. */
export const findLayerBreach = (
  { from, to, relative, typeOnly }: Import,
  plugins: ReadonlySet<string>,
): string | undefined => {
  const part = [...CONTRACT_PARTS, 'engine/plugin.ts'].indexOf(from)
  if (part >= 0)
    return typeOnly && CONTRACT_PARTS.slice(0, part).includes(to)
      ? undefined
      : 'the contract imports only types of its earlier parts'
  if (KITS.includes(from) && !(typeOnly && to === 'engine/plugin.ts') && !KITS.includes(to))
    return 'a kit is bundled into plugins: it imports only types of the contract'
  if (!relative) return undefined
  if (from.startsWith('engine/'))
    return /^(?:engine|schemas)\//.test(to)
      ? findSubsystemBreach(from, to, typeOnly)
      : `the engine must not import ${to}`
  if (from.startsWith('examples/') && !to.startsWith('examples/'))
    return 'an example imports the package: tollgate/plugin, not files of the project'
  if (!from.startsWith('plugins/')) return undefined
  const [, shared] = /^plugins\/((?:slots|shapes|views|rows\/[a-z-]+)\.ts)$/.exec(from) ?? []
  if (shared && !isGround(to))
    return `${shared} is for all plugins and may import nothing but engine/plugin.ts, shapes and rows`
  if (PUBLIC.includes(to) || isGround(to)) return undefined
  if (!to.startsWith('plugins/'))
    return `of the engine a plugin may import only ${PUBLIC.join(', ')}`
  return findFolderBreach(from, to, plugins)
}

/** Folders of the engine that may import engine/http-client/, with the reason. */
const CLIENT_USERS: Readonly<Record<string, string>> = {
  'http-client': 'the client itself',
  upstream: 'sends requests to upstreams, and parses the endpoints of their URLs',
  egress: 'parses the endpoints of URLs as the client does',
}
/** Keeps the HTTP client replaceable: one folder depends on it. */
export const findClientBreach = ({ from, to, line }: Import) => {
  const isUser = CLIENT_USERS[engineFolder(from) ?? ''] !== undefined
  if (engineFolder(to) !== 'http-client' || from.startsWith('test/') || isUser) return []
  const message = 'only engine/upstream/ imports engine/http-client/: send through engine/upstream/'
  return [{ path: from, line, message }]
}

/** The request part imports only types of the subsystems. */
const findSubsystemBreach = (from: string, to: string, typeOnly: boolean): string | undefined => {
  const [own = '', target = ''] = [from, to].map(engineFolder)
  if (!SUBSYSTEMS.includes(target) || SUBSYSTEMS.includes(own)) return undefined
  return typeOnly ? undefined : `of engine/${target}/ the request part imports only types`
}

const findFolderBreach = (
  from: string,
  to: string,
  plugins: ReadonlySet<string>,
): string | undefined => {
  const [own, target] = [folderOf(from), folderOf(to)]
  if (own !== undefined && own === target)
    return own === 'formats' ? findFormatBreach(from, to) : undefined
  if (target === undefined || plugins.has(target))
    return `no plugin imports another plugin: move what ${from} shares with ${to} into a shared folder`
  if (own === undefined || plugins.has(own)) return undefined
  return (LEVELS[target] ?? 0) < (LEVELS[own] ?? 0)
    ? undefined
    : `plugins/${own}/ may not import plugins/${target}/: it is not of a lower level`
}

/** Folders of plugins/formats/ that every format may import. */
const SHARED_BY_FORMATS: ReadonlySet<string> = new Set([
  'audio',
  'google',
  'hub',
  'images',
  'json',
  'media',
  'stream',
])
/** A format imports only shared folders, the files in plugins/formats/ and its own folder. */
const findFormatBreach = (from: string, to: string): string | undefined => {
  const [own, other] = [from, to].map(path => path.split('/')[2] ?? '')
  const isShared = other?.endsWith('.ts') || SHARED_BY_FORMATS.has(other ?? '')
  const isKnown = isShared || own === other || from === 'plugins/formats/index.ts'
  return isKnown ? undefined : `the format ${own} may import only what formats share, not ${other}`
}

const folderOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1]
