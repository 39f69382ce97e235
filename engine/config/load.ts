/** From a path to a snapshot: read, bundle, check, compile; or every problem at once. */
import { createHash } from 'node:crypto'
import { basename, dirname, resolve } from 'node:path'
import type { Resources } from '../host.ts'
import type { Document, Json, Plugin } from '../plugin.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Blueprint, Bundle } from './blueprint.ts'
import { check } from './check.ts'
import { CompileError, type CompileFault, compile } from './compile.ts'
import { importPlugin, importPlugins, placeInStack } from './import.ts'
import { type Bundled, bundlePlugins } from './plugins.ts'
import { type Problem, ProblemsError } from './problem.ts'
import { fileSource, type Reading, read, type Source } from './read.ts'
import { isSecret } from './variables.ts'
import { watchedFolders } from './watch.ts'

export type { Blueprint, Bundle } from './blueprint.ts'
export { describeChange } from './change.ts'

export interface PrepareOptions {
  /** Path of routes.yaml. */
  readonly config: string
  readonly version: number
  /** Where bundled plugins are kept. */
  readonly cacheFolder: string
  readonly source?: Source
  /** Plugins of an archived version, instead of those in its folders today. */
  readonly bundles?: readonly Bundle[]
  /** Told the file whose code runs next, so that someone outside knows whom to blame for silence. */
  progress?(file: string): void
}
export interface LoadOptions extends PrepareOptions {
  readonly resources: Resources
}
/** All that can be known without running a plugin's `setup`. */
export interface Prepared {
  readonly blueprint: Blueprint
  readonly plugins: ReadonlyMap<string, Plugin>
  /** The texts of the configuration, for the history: by their path as operators name them. */
  readonly files: ReadonlyMap<string, string>
  /** Folders to watch, absolute. */
  readonly watched: readonly string[]
  readonly secrets: ReadonlySet<string>
}
export interface Loaded extends Prepared {
  readonly snapshot: Snapshot
}

/** Reads, bundles and checks. Throws ProblemsError with every problem at once. */
export const prepare = async (options: PrepareOptions): Promise<Prepared> =>
  (await prepared(options)).result

/** The same, and the snapshot. */
export const load = async (options: LoadOptions): Promise<Loaded> => {
  const { result, reading, inputs, fail } = await prepared(options)
  try {
    const snapshot = await compile(result.blueprint, result.plugins, options.resources)
    return { ...result, snapshot }
  } catch (thrown) {
    if (!(thrown instanceof CompileError)) throw thrown
    throw fail(thrown.faults.map(each => compileProblem(each, result, reading, inputs)))
  }
}

/** The snapshot of a blueprint made elsewhere: what a worker does. Throws CompileError. */
export const fromBlueprint = async (
  blueprint: Blueprint,
  resources: Resources,
): Promise<Snapshot> => {
  const plugins = await Promise.all(
    blueprint.plugins.map(async bundle => [bundle.name, await importPlugin(bundle)] as const),
  )
  return compile(blueprint, new Map(plugins), resources)
}

interface Whole {
  readonly result: Prepared
  readonly reading: Reading
  /** Source files of plugins. */
  readonly inputs: readonly string[]
  fail(found: readonly Problem[]): ProblemsError
}
const prepared = async (options: PrepareOptions): Promise<Whole> => {
  const source = options.source ?? fileSource()
  const reading = read(options.config, source)
  const { root } = reading
  const folders = pluginFolders(reading.document)
  const bundled = options.bundles
    ? { ...NOTHING, bundles: options.bundles }
    : await bundlePlugins(folders, root, options.cacheFolder)
  const imported = await importPlugins(
    bundled.bundles,
    root,
    bundled.inputs,
    options.progress ?? (() => {}),
  )
  const judged = check(reading, bundled, imported.plugins, source)
  const secrets = new Set([...reading.secrets, ...[...judged.secrets].filter(isSecret)])
  const watched = watchedFolders([
    ...[resolve(root, basename(options.config)), ...folders.map(folder => resolve(root, folder))],
    ...[...reading.files.keys()].map(file => resolve(root, file)),
    ...includeFolders(reading),
    ...reading.drawn,
    ...judged.paths,
    ...bundled.inputs,
  ])
  const fail = (found: readonly Problem[]) =>
    new ProblemsError(found, textsOf(found, reading, secrets, source), root, watched)
  const found = [...reading.problems, ...bundled.problems, ...imported.problems, ...judged.problems]
  if (found.length > 0) throw fail(found)
  const { document } = judged
  const files = Object.fromEntries(judged.files)
  const hash = hashOf(document, bundled.bundles, files)
  const blueprint = {
    version: options.version,
    hash,
    root,
    document,
    plugins: bundled.bundles,
    files,
  }
  const { plugins } = imported
  const texts = new Map([...reading.files, ...judged.files])
  const result = { blueprint, plugins, files: texts, watched, secrets }
  return { result, reading, inputs: bundled.inputs, fail }
}
const NOTHING: Bundled = { bundles: [], broken: [], shared: new Map(), problems: [], inputs: [] }

/** As good as they can be known before anything is checked. */
const pluginFolders = ({ settings }: Document): string[] => {
  const folders = (settings as { plugins?: Json } | undefined)?.plugins
  if (!Array.isArray(folders)) return ['plugins']
  return folders.filter(folder => typeof folder === 'string')
}

/** The folder before the first wildcard, so that a file that will match is seen. */
const includeFolders = ({ document, root }: Reading): string[] =>
  (Array.isArray(document.include) ? document.include : [])
    .filter(pattern => typeof pattern === 'string')
    .map(pattern => dirname(resolve(root, pattern.replace(/[*?[{].*/s, 'x'))))

const START = { line: 1, column: 1 }

/** Texts for code frames: also of plugins; a secret that stands in one is covered. */
const textsOf = (
  found: readonly Problem[],
  reading: Reading,
  secrets: ReadonlySet<string>,
  source: Source,
): Map<string, string> => {
  const texts = new Map<string, string>()
  for (const { file } of found) {
    const text = reading.files.get(file) ?? source.text(resolve(reading.root, file))
    if (text === undefined || texts.has(file)) continue
    const covered = [...secrets].reduce(
      (all, each) => all.replaceAll(each, '*'.repeat(each.length)),
      text,
    )
    texts.set(file, covered)
  }
  return texts
}

const hashOf = (document: Document, bundles: readonly Bundle[], files: object): string =>
  createHash('sha256')
    .update(JSON.stringify([document, bundles.map(({ name, hash }) => [name, hash]), files]))
    .digest('hex')
    .slice(0, 16)

/** A plugin that refuses its options is shown them; one that breaks is shown its own line. */
const compileProblem = (
  { where = [], plugin, code, message, stack }: CompileFault,
  { blueprint }: Prepared,
  reading: Reading,
  inputs: readonly string[],
): Problem => {
  const bundle = blueprint.plugins.find(({ name }) => name === plugin)
  const broke = code.startsWith('PLUGIN_') ? placeInStack(stack, blueprint.root, inputs) : undefined
  const file = bundle && where.length === 0 ? { file: bundle.file, ...START } : undefined
  const words = broke ? `${message} (in setup for ${where.join('.')})` : message
  return { code, message: words, ...(broke ?? file ?? reading.place(where)) }
}
