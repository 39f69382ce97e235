/** Loads a configuration: reads, bundles, checks and compiles it, or reports all problems. */
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Document, Plugin } from '../plugin.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { check } from './check.ts'
import {
  type Blueprint,
  type Bundle,
  createPartsEncoder,
  type EncodedParts,
  freezeAll,
} from './compile/blueprint.ts'
import { CompileError, type CompileFault, compile, storeFault } from './compile/compile.ts'
import { labelOf } from './faults.ts'
import { type BundledPlugins, bundlePlugins } from './plugins/bundle.ts'
import { importPlugins, placeInStack } from './plugins/import.ts'
import {
  folderProblems,
  ownPluginFolders,
  pluginPaths,
  withShipped,
} from './plugins/plugin-folders.ts'
import { type Problem, ProblemsError } from './problem.ts'
import { fileSource, includePatterns, type Reading, read, type Source } from './read.ts'
import { findWatchedPaths } from './watched-paths.ts'
import { isSecret, withPassword } from './yaml/variables.ts'

export { describeChange } from './change.ts'
export type { Blueprint } from './compile/blueprint.ts'
export { fromBlueprint } from './plugins/import.ts'

export interface PrepareOptions {
  /** Path of routes.yaml. */
  readonly config: string
  readonly version: number
  /** Folder of the bundled plugins. */
  readonly cacheFolder: string
  readonly source?: Source
  /** Plugins of an archived version, instead of those in the plugin folders. */
  readonly bundles?: readonly Bundle[]
  /** A version without problems: what is the same object in both is not checked again. */
  readonly before?: Blueprint | undefined
  /** Called with the plugin file whose code runs next: the cause if the process then hangs. */
  progress?(file: string): void
}
export interface LoadOptions extends PrepareOptions {
  readonly resources: Resources
  /** Rejects with a fault of the store if it cannot be used: a problem of `settings.database`. */
  assertStore?(blueprint: Blueprint): Promise<void>
}
/** The result before any `setup` runs. */
export interface PreparedConfig {
  readonly blueprint: Blueprint
  readonly parts: EncodedParts
  readonly plugins: ReadonlyMap<string, Plugin>
  /** Texts of the configuration files by displayed path, for the history. */
  readonly files: ReadonlyMap<string, string>
  /** Absolute paths and patterns to watch. */
  readonly watchedPaths: readonly string[]
  readonly secrets: ReadonlySet<string>
  /** Absolute paths of the sources of all plugins. */
  readonly sources: readonly string[]
}
export interface LoadedConfig extends PreparedConfig {
  readonly snapshot: Snapshot
}

/** Reads, bundles and checks. Throws ProblemsError with all problems. */
export const prepare = async (options: PrepareOptions): Promise<PreparedConfig> =>
  (await prepareState(options)).result

/** Reads, bundles, checks and compiles. Throws ProblemsError with all problems. */
export const load = async (options: LoadOptions): Promise<LoadedConfig> => {
  const state = await prepareState(options)
  const { blueprint, plugins } = state.result
  const known: CompileFault[] = []
  await options.assertStore?.(blueprint).catch(error => {
    known.push(storeFault(error, 'PREPARE_FAILED'))
  })
  try {
    const snapshot = await compile(blueprint, plugins, options.resources, known)
    return { ...state.result, snapshot }
  } catch (error) {
    if (!(error instanceof CompileError)) throw error
    throw state.fail(error.faults.map(each => compileProblem(each, state)))
  }
}

interface LoadState {
  readonly result: PreparedConfig
  readonly reading: Reading
  fail(problems: readonly Problem[]): ProblemsError
}
const prepareState = async (options: PrepareOptions): Promise<LoadState> => {
  const { config, version, cacheFolder, source = fileSource(), progress = () => {} } = options
  const reading = read(config, source)
  const { root } = reading
  const folders = ownPluginFolders(reading.document)
  const bundleResult: BundledPlugins = options.bundles
    ? { bundles: options.bundles, brokenNames: [], problems: [], inputs: [] }
    : await bundlePlugins(withShipped(folders, root), root, cacheFolder)
  const { bundles, inputs } = bundleResult
  const importResult = await importPlugins(bundles, root, inputs, progress)
  const checkResult = check(reading, bundleResult, importResult.plugins, source, {
    cacheFolder,
    before: documentBefore(options.before, bundles),
  })
  const secretValues = [...reading.secrets, ...[...checkResult.secrets].filter(isSecret)]
  // Longest first: one secret may be a prefix of another.
  const longestFirst = secretValues.flatMap(withPassword).sort((a, b) => b.length - a.length)
  const secrets = new Set(longestFirst)
  const pathsToWatch = findWatchedPaths([
    ...[...reading.files.keys()].map(path => resolve(root, path)),
    resolve(root, '.env'),
    ...includePatterns(reading),
    ...pluginPaths(folders, inputs, root),
    ...reading.variableFiles,
    ...checkResult.paths,
  ])
  const [main] = reading.files.keys()
  const fail = (problems: readonly Problem[]) =>
    new ProblemsError(
      maskProblems(problems, secrets),
      textsOf(problems, reading, secrets, source),
      root,
      pathsToWatch,
      main,
    )
  const problems = [
    ...folderProblems(reading),
    ...[reading, bundleResult, importResult, checkResult].flatMap(({ problems }) => problems),
  ]
  if (problems.length > 0) throw fail(problems)
  const document = freezeAll(checkResult.document)
  const attachments = Object.fromEntries(checkResult.files)
  const parts = encodeParts(document, attachments)
  const hash = hashOf(parts, bundles)
  const compiled = { document, plugins: bundles, places: placesOf(reading), files: attachments }
  const blueprint = { version, hash, root, cacheFolder, ...compiled }
  const files = new Map([...reading.files, ...checkResult.files])
  const result = {
    blueprint,
    parts,
    plugins: importResult.plugins,
    files,
    watchedPaths: pathsToWatch,
    secrets,
    sources: inputs,
  }
  return { result, reading, fail }
}

/** One for the process. */
const encodeParts = createPartsEncoder()
const hashOf = ({ sections, files }: EncodedParts, bundles: readonly Bundle[]): string => {
  const plugins = bundles.map(({ name, hash }) => [name, hash])
  const text = JSON.stringify([sections, plugins, files])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The document of a version that the same plugins have checked. */
const documentBefore = (
  before: Blueprint | undefined,
  bundles: readonly Bundle[],
): Document | undefined => {
  const hashes = (list: readonly Bundle[]) => list.map(({ hash }) => hash).join()
  return before && hashes(before.plugins) === hashes(bundles) ? before.document : undefined
}

/** Where each route is defined. */
const placesOf = ({ document: { routes }, find }: Reading): Blueprint['places'] =>
  (Array.isArray(routes) ? routes : []).map((_, index) => {
    const { file, line } = find(['routes', index]).place('value')
    return { file, line }
  })

/** Texts of the files with problems, for code frames, with secrets masked. */
const textsOf = (
  problems: readonly Problem[],
  { root, files }: Reading,
  secrets: ReadonlySet<string>,
  source: Source,
): Map<string, string> => {
  const texts = new Map<string, string>()
  for (const file of new Set(problems.map(each => each.file))) {
    const text = files.get(file) ?? source.text(resolve(root, file))
    if (text !== undefined) texts.set(file, mask(text, secrets))
  }
  return texts
}

/** Length of the shortest secret that is masked in messages and within words: shorter ones occur
 *  there by chance. */
const MIN_SECRET = 4
/** Masks secrets in messages: a plugin may repeat a value, also JSON-encoded. */
const maskProblems = (
  problems: readonly Problem[],
  secrets: ReadonlySet<string>,
): readonly Problem[] => {
  const long = [...secrets].filter(secret => secret.length >= MIN_SECRET)
  const forms = long.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)])
  return problems.map(each => ({
    ...each,
    message: mask(each.message, forms),
    ...(each.suggestion !== undefined && { suggestion: mask(each.suggestion, forms) }),
  }))
}
const mask = (text: string, secrets: Iterable<string>): string => {
  let result = text
  for (const secret of secrets) {
    const isShort = secret.length < MIN_SECRET
    const places = isShort ? new RegExp(`(?<!\\w)${RegExp.escape(secret)}(?!\\w)`, 'g') : secret
    result = result.replaceAll(places, '*'.repeat(secret.length))
  }
  return result
}

/** Places a fault at the options that a plugin refused, or at the line where its code threw. */
const compileProblem = (
  { where = [], plugin = '', code, message: reason, suggestion, stack }: CompileFault,
  { result, reading }: LoadState,
): Problem => {
  const file = result.blueprint.plugins.find(({ name }) => name === plugin)?.file
  const isSetup = code === 'PLUGIN_SETUP' && !reason.includes(`"${plugin}"`)
  const message = isSetup ? `the plugin "${plugin}" failed in setup: ${reason}` : reason
  const place = code.startsWith('PLUGIN_')
    ? placeInStack(stack, reading.root, result.sources)
    : undefined
  if (place) return { code, message: `${message} (for ${labelOf(where)})`, ...place }
  if (file && (where.length === 0 || code === 'PLUGIN_STAGE'))
    return {
      code,
      message,
      file,
      line: 1,
      column: 1,
      ...(suggestion !== undefined && { suggestion }),
    }
  return { code, message, ...reading.find(where).place('value') }
}
