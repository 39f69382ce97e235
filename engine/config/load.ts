/** From a path to a snapshot: read, bundle, check, compile; or every problem at once. */
import { createHash } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import type { Document, Json, Plugin } from '../plugin.ts'
import type { Resources } from '../snapshot/host.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { check } from './check.ts'
import type { Blueprint, Bundle } from './compile/blueprint.ts'
import { CompileError, type CompileFault, compile } from './compile.ts'
import { labelOf } from './faults.ts'
import { importPlugins, placeInStack } from './import.ts'
import { indexPlaces } from './plugin-files.ts'
import { type Bundled, bundlePlugins } from './plugins.ts'
import { type Problem, ProblemsError } from './problem.ts'
import { fileSource, type Reading, read, type Source } from './read.ts'
import { isSecret, withPassword } from './variables.ts'
import { watchedPlaces } from './watch.ts'

export { describeChange } from './change.ts'
export type { Blueprint } from './compile/blueprint.ts'
export { fromBlueprint } from './import.ts'

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
  const whole = await prepared(options)
  const { blueprint, plugins } = whole.result
  try {
    return { ...whole.result, snapshot: await compile(blueprint, plugins, options.resources) }
  } catch (thrown) {
    if (!(thrown instanceof CompileError)) throw thrown
    throw whole.fail(thrown.faults.map(each => compileProblem(each, whole)))
  }
}

interface Whole {
  readonly result: Prepared
  readonly reading: Reading
  /** Source files of plugins. */
  readonly inputs: readonly string[]
  fail(found: readonly Problem[]): ProblemsError
}
const prepared = async (options: PrepareOptions): Promise<Whole> => {
  const { config, version, cacheFolder, source = fileSource(), progress = () => {} } = options
  const reading = read(config, source)
  const { root } = reading
  const folders = pluginFolders(reading.document)
  const bundled: Bundled = options.bundles
    ? { bundles: options.bundles, broken: [], problems: [], inputs: [] }
    : await bundlePlugins(folders, root, cacheFolder)
  const { bundles, inputs } = bundled
  const imported = await importPlugins(bundles, root, inputs, progress)
  const judged = check(reading, bundled, imported.plugins, source, cacheFolder)
  const shown = [...reading.secrets, ...[...judged.secrets].filter(isSecret)]
  // One may begin like another: the longest is covered first.
  const longestFirst = shown.flatMap(withPassword).sort((a, b) => b.length - a.length)
  const secrets = new Set(longestFirst)
  const own = [...reading.files.keys(), ...folders, ...includePlaces(reading)]
  const watched = watchedPlaces([
    ...own.map(path => resolve(root, path)),
    ...[...reading.drawn, ...judged.paths, ...besideCode(inputs), ...indexPlaces(folders, root)],
  ])
  const [main] = reading.files.keys()
  const fail = (found: readonly Problem[]) =>
    new ProblemsError(
      covered(found, secrets),
      textsOf(found, reading, secrets, source),
      root,
      watched,
      main,
    )
  const found = [reading, bundled, imported, judged].flatMap(({ problems }) => problems)
  if (found.length > 0) throw fail(found)
  const { document } = judged
  const attached = Object.fromEntries(judged.files)
  const counted = [document, bundles.map(({ name, hash }) => [name, hash]), attached]
  const hash = createHash('sha256').update(JSON.stringify(counted)).digest('hex').slice(0, 16)
  const blueprint = { version, hash, root, document, plugins: bundles, files: attached }
  const files = new Map([...reading.files, ...judged.files])
  const result = { blueprint, plugins: imported.plugins, files, watched, secrets }
  return { result, reading, inputs, fail }
}

/** As good as they can be known before anything is checked. */
export const pluginFolders = ({ settings }: Document): string[] => {
  const folders = (settings as { plugins?: Json } | undefined)?.plugins
  return Array.isArray(folders) ? folders.filter(each => typeof each === 'string') : ['plugins']
}

/** Files that would match, also those that are not there yet; all of a folder where the pattern goes on below it. */
const includePlaces = ({ document: { include } }: Reading): string[] =>
  (Array.isArray(include) ? include : []).map(each => {
    const [folder = ''] = /^(?:[^*?[{/]*\/)*/.exec(String(each)) ?? []
    const rest = String(each).slice(folder.length)
    return rest.includes('/') ? folder || '.' : folder + rest
  })
/** A file that a plugin imports may not be there yet. */
const CODE = '*.{ts,mts,cts,js,mjs,cjs,json}'
const besideCode = (inputs: readonly string[]): string[] => [
  ...inputs,
  ...new Set(inputs.map(each => join(dirname(each), CODE))),
]

/** Texts for code frames, also of plugins; a secret that stands in one is covered. */
const textsOf = (
  found: readonly Problem[],
  { root, files }: Reading,
  secrets: ReadonlySet<string>,
  source: Source,
): Map<string, string> => {
  const texts = new Map<string, string>()
  for (const file of new Set(found.map(each => each.file))) {
    const text = files.get(file) ?? source.text(resolve(root, file))
    if (text !== undefined) texts.set(file, cover(text, secrets))
  }
  return texts
}

/** A password of fewer letters stands in any sentence by chance. */
const SHORTEST = 4
/** A plugin knows nothing of where a value comes from, and may repeat it: as it is, or in quotes. */
const covered = (found: readonly Problem[], secrets: ReadonlySet<string>): readonly Problem[] => {
  const long = [...secrets].filter(secret => secret.length >= SHORTEST)
  const forms = long.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)])
  return found.map(each => ({
    ...each,
    message: cover(each.message, forms),
    ...(each.suggestion !== undefined && { suggestion: cover(each.suggestion, forms) }),
  }))
}
const cover = (text: string, secrets: Iterable<string>): string => {
  let left = text
  for (const secret of secrets) left = left.replaceAll(secret, '*'.repeat(secret.length))
  return left
}

/** A plugin that refuses its options is shown them; one that breaks is shown its own line. */
const compileProblem = (
  { where = [], plugin, code, message, stack }: CompileFault,
  { result, reading, inputs }: Whole,
): Problem => {
  const file = result.blueprint.plugins.find(({ name }) => name === plugin)?.file
  const broke = code.startsWith('PLUGIN_') ? placeInStack(stack, reading.root, inputs) : undefined
  if (broke) return { code, message: `${message} (in setup for ${labelOf(where)})`, ...broke }
  if (file && where.length === 0) return { code, message, file, line: 1, column: 1 }
  return { code, message, ...reading.find(where).place('value') }
}
