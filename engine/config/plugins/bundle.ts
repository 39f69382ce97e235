/** Bundles the plugins with their imports into files that are named by their content. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type {
  BuildFailure,
  BuildOptions,
  Plugin as BuildPlugin,
  Message,
  Metafile,
  PluginBuild,
} from 'esbuild'
import { makeFolder } from '../../store/make-folder.ts'
import type { Bundle } from '../compile/blueprint.ts'
import { writeAtomically } from '../disk.ts'
import { formatPath } from '../format-path.ts'
import { defineProblems, type Place, type Problem } from '../problem.ts'
import { RESERVED_NAMES } from '../schema.ts'
import { browserPrograms } from './browser-program.ts'
import {
  type BuildOutput,
  type Candidate,
  digest,
  readCached,
  type SourceState,
  stampOf,
  UNREAD,
  writeCached,
} from './bundle-cache.ts'
import { entriesIn, type PluginEntry } from './plugin-files.ts'
import { PREBUILT, PROGRAM, publicFile } from './program.ts'
import { type EsbuildResult, shippedInput, writeShipped } from './shipped-bundle.ts'

const problem = defineProblems({
  PLUGIN_SYNTAX: '%s',
  PLUGIN_IMPORT: '%s',
  PLUGIN_NAME: '%j is not a valid plugin name: %s',
})

const NAME = /^[a-z][a-z0-9-]*$/

export interface BundledPlugins {
  readonly bundles: readonly Bundle[]
  /** Names of plugins with a problem. */
  readonly brokenNames: readonly string[]
  readonly problems: readonly Problem[]
  /** Absolute paths of the bundled source files outside node_modules, to watch. */
  readonly inputs: readonly string[]
}
/** Bundles the plugins of each folder together: code that several of them import exists once in a
 *  process, and an edited plugin of the operator does not bundle the shipped ones again. `folders`
 *  are relative to `root`; `folder` gets the files. */
export const bundlePlugins = async (
  folders: readonly string[],
  root: string,
  folder: string,
): Promise<BundledPlugins> => {
  makeFolder(folder)
  // Source maps are relative to the real path of the bundle.
  const cacheFolder = realpathSync(folder)
  const outputs = await bundleFolders(
    folders.flatMap(each => {
      const entries = entriesIn(each, root)
      return [true, false].map(shipped => entries.filter(({ isShipped }) => isShipped === shipped))
    }),
    root,
    cacheFolder,
  )
  const candidates = outputs
    .flatMap(each => each.candidates)
    .sort((a, b) => Number(a.entry.isShipped) - Number(b.entry.isShipped))
  const sources = Object.assign({}, ...outputs.map(each => each.sources)) as BuildOutput['sources']
  const { plugins, problems } = selectPlugins(candidates)
  return {
    bundles: plugins.flatMap(({ bundle }) => bundle ?? []),
    brokenNames: plugins.flatMap(({ entry, problems }) => (problems.length > 0 ? entry.name : [])),
    problems: [...problems, ...plugins.flatMap(each => each.problems)],
    inputs: Object.keys(sources).filter(path => !path.includes('/node_modules/')),
  }
}

/** Selects the plugins; reports each with an invalid or duplicate name. Shipped plugins come last,
 *  and give way to a plugin of the operator. */
const selectPlugins = (candidates: readonly Candidate[]) => {
  const plugins = new Map<string, Candidate>()
  const problems: Problem[] = []
  for (const candidate of candidates) {
    const { entry, bundle } = candidate
    if (!bundle && candidate.problems.length === 0) continue
    const other = plugins.get(entry.name)
    if (other && entry.isShipped && !other.entry.isShipped) {
      const own = other.bundle && { ...other.bundle, isReplacement: true }
      plugins.set(entry.name, { ...other, bundle: own })
      continue
    }
    const fault = nameFault(entry.name, other?.entry)
    if (fault) problems.push(problem('PLUGIN_NAME', fileStart(entry.file), [entry.name, fault]))
    else plugins.set(entry.name, candidate)
  }
  return { plugins: [...plugins.values()], problems }
}
const nameFault = (name: string, other: PluginEntry | undefined): string | undefined => {
  if (!NAME.test(name)) return 'use lower-case letters, digits and -, and begin with a letter'
  if (RESERVED_NAMES.has(name)) return 'it is a key of routes'
  return other && `${other.file} already has this name`
}
const fileStart = (file: string): Place => ({ file, line: 1, column: 1 })

const NOTHING: BuildOutput = { candidates: [], sources: {} }
const readOutput = (
  entries: readonly PluginEntry[],
  cacheFolder: string,
): BuildOutput | undefined =>
  readCached(entries, PREBUILT, REQUIRE) ?? readCached(entries, cacheFolder, REQUIRE)

/** Keeps the output of the shipped plugins: it depends on hundreds of files, and the code of the
 *  program changes with an upgrade only, unless routes.yaml lies beside it. */
const createShippedReader = () => {
  let known: { readonly root: string; readonly output: BuildOutput } | undefined
  return (
    entries: readonly PluginEntry[],
    root: string,
    read: () => BuildOutput | undefined,
  ): BuildOutput | undefined => {
    if (root === PROGRAM || !entries.every(each => each.isShipped)) return read()
    if (known?.root === root) return known.output
    const output = read()
    known = output && { root, output }
    return output
  }
}
/** One for the process. */
const readShippedOnce = createShippedReader()
/** Runs builds, and ends the process of esbuild with the last of them: else it would stay, with
 *  260 MiB after a build of the shipped plugins. A stop during another build would leave that one
 *  waiting for ever. */
const createBuilds = () => {
  let running = 0
  return async <T>(build: () => Promise<T>): Promise<T> => {
    // esbuild is loaded on demand, since most starts find bundles.
    const { stop } = await import('esbuild')
    running++
    try {
      return await build()
    } finally {
      running--
      if (running === 0) await stop()
    }
  }
}
/** One for the process, as its esbuild. */
const withEsbuild = createBuilds()
const bundleFolders = async (
  folders: readonly (readonly PluginEntry[])[],
  root: string,
  cacheFolder: string,
): Promise<readonly BuildOutput[]> => {
  const cached = folders.map(entries =>
    entries.length === 0
      ? NOTHING
      : readShippedOnce(entries, root, () => readOutput(entries, cacheFolder)),
  )
  if (cached.every(output => output !== undefined)) return cached
  return withEsbuild(() =>
    Promise.all(
      folders.map((entries, index) => cached[index] ?? buildPlugins(entries, root, cacheFolder)),
    ),
  )
}

const buildPlugins = async (
  entries: readonly PluginEntry[],
  root: string,
  cacheFolder: string,
): Promise<BuildOutput> => {
  const sources = Object.fromEntries(entries.map(({ path }) => [path, UNREAD]))
  try {
    const read = sourceReader(sources)
    const isShipped = entries.every(each => each.isShipped)
    const input = isShipped ? shippedInput(entries) : inputOf(entries)
    const result = await build(input, cacheFolder, read)
    const candidates = isShipped
      ? writeShipped(entries, result, sources, cacheFolder)
      : writeBundles(entries, result, cacheFolder)
    const output = { candidates, sources }
    writeCached(entries, cacheFolder, REQUIRE, output)
    return output
  } catch (error) {
    if (!isBuildFailure(error)) throw error
    const single = entries.map(entry => buildSingle(entry, sources, root, cacheFolder))
    return { candidates: await Promise.all(single), sources }
  }
}

/** Bundles a plugin alone: after a failed build of its folder, this tells which are broken. */
const buildSingle = async (
  entry: PluginEntry,
  sources: Record<string, SourceState>,
  root: string,
  cacheFolder: string,
): Promise<Candidate> => {
  try {
    const result = await build(inputOf([entry]), cacheFolder, sourceReader(sources))
    const [candidate] = writeBundles([entry], result, cacheFolder)
    return candidate ?? { entry, problems: [] }
  } catch (error) {
    if (!isBuildFailure(error)) throw error
    const problems = error.errors.map(each => compileProblem(each, entry, root, cacheFolder))
    return { entry, problems }
  }
}
const isBuildFailure = (error: unknown): error is BuildFailure =>
  Array.isArray((error as Partial<BuildFailure>).errors)

/** A bundle for each entry, and files of what they share. */
const inputOf = (entries: readonly PluginEntry[]): BuildOptions => ({
  entryPoints: entries.map(({ path, name }, index) => ({
    in: path,
    out: entries.findIndex(each => each.name === name) === index ? name : `${name}.${index}`,
  })),
  entryNames: '[name]-[hash]',
  chunkNames: 'shared-[hash]',
  outExtension: { '.js': '.mjs' },
  splitting: true,
  format: 'esm',
})
const build = async (
  input: BuildOptions,
  cacheFolder: string,
  read: BuildPlugin,
): Promise<EsbuildResult> =>
  (await import('esbuild')).build({
    ...input,
    outdir: cacheFolder,
    absWorkingDir: cacheFolder,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node24',
    // A file of its own, read when a stack is printed: in the code it would fill the memory.
    sourcemap: 'external',
    sourcesContent: false,
    legalComments: 'none',
    // V8 keeps the text of a script in memory, white space and comments included.
    minifyWhitespace: true,
    logLevel: 'silent',
    // The output must not depend on a tsconfig.json in a parent folder.
    tsconfigRaw: '{}',
    plugins: [PUBLIC_FILES, browserPrograms(read), read],
  })

/** An esbuild plugin that finds `tollgate/plugin` and its like in this program, so that plugins
 *  share one copy of them, and need no package beside routes.yaml. */
const PUBLIC_FILES: BuildPlugin = {
  name: 'public files',
  setup({ onResolve }: PluginBuild) {
    onResolve({ filter: /^tollgate\/[a-z]+$/ }, ({ path }) => {
      const file = publicFile(path.slice('tollgate/'.length))
      return existsSync(file) ? { path: file } : {}
    })
  },
}

/** An esbuild plugin that reads and hashes the sources, so that each hash is of the bundled bytes
 *  even if a file is saved during the build. */
const sourceReader = (sources: Record<string, SourceState>) => ({
  name: 'reader',
  setup({ onLoad }: PluginBuild) {
    onLoad({ filter: /./, namespace: 'file' }, ({ path }) => {
      const stamp = stampOf(path)
      const contents = readFileSync(path)
      sources[path] = { hash: digest(contents), stamp }
      return { contents, loader: 'default' as const }
    })
  },
})

/** CommonJS packages load Node modules by `require`, which an ES module does not have. */
const REQUIRE =
  "import{createRequire as $require}from'node:module';var require=$require(import.meta.url);"

/** Writes the files of a build, and finds the bundle of each entry that is a plugin. */
const writeBundles = (
  entries: readonly PluginEntry[],
  { metafile: { outputs }, outputFiles }: EsbuildResult,
  cacheFolder: string,
): readonly Candidate[] => {
  const codes = new Map<string, string>()
  for (const { path, text } of outputFiles) {
    const code = text.includes('Dynamic require of') ? REQUIRE + text : text
    codes.set(basename(path), code)
    if (!existsSync(path)) writeAtomically(path, code)
  }
  const names = new Map(
    Object.entries(outputs).flatMap(([name, { entryPoint, exports }]) =>
      entryPoint !== undefined && exports.includes('default')
        ? [[resolve(cacheFolder, entryPoint), basename(name)]]
        : [],
    ),
  )
  return entries.map(entry => {
    const base = names.get(realpathSync(entry.path)) ?? names.get(entry.path)
    if (base === undefined) return { entry, problems: [] }
    const { name, file } = entry
    const hash = digest(codes.get(base) ?? '')
    const chunks = importsOf(base, outputs)
    return {
      entry,
      bundle: { name, file, bundle: join(cacheFolder, base), hash, chunks },
      problems: [],
    }
  })
}
/** Names of all files that an output imports, directly or through others. */
const importsOf = (base: string, outputs: Metafile['outputs']): readonly string[] => {
  const imports = new Set<string>()
  const add = (name: string): void => {
    for (const { path, external } of outputs[name]?.imports ?? []) {
      if (external || imports.has(path)) continue
      imports.add(path)
      add(path)
    }
  }
  add(base)
  return [...imports].sort()
}

const compileProblem = (
  { text, location }: Message,
  entry: PluginEntry,
  root: string,
  cacheFolder: string,
): Problem => {
  const code = /^Could not resolve|^No matching export/.test(text)
    ? 'PLUGIN_IMPORT'
    : 'PLUGIN_SYNTAX'
  if (!location) return problem(code, fileStart(entry.file), [text])
  const { file, line, column, length, lineText } = location
  // esbuild counts bytes, editors count characters.
  const before = Buffer.from(lineText).subarray(0, column).toString().length
  const path = resolve(cacheFolder, file)
  return problem(code, { file: formatPath(root, path), line, column: before + 1, length }, [text])
}
