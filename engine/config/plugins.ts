/** Bundles each plugin with its imports into a file that is named by its content hash. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type BuildFailure,
  type Plugin as BuildPlugin,
  type BuildResult,
  build,
  type Message,
  type PluginBuild,
  version,
} from 'esbuild'
import type { Bundle } from './compile/blueprint.ts'
import { formatPath } from './format-path.ts'
import { entriesIn, type PluginEntry } from './plugin-files.ts'
import { defineProblems, type Place, type Problem } from './problem.ts'
import { RESERVED_NAMES } from './schema.ts'

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
/** An entry and its build result. */
interface Candidate {
  readonly entry: PluginEntry
  readonly output: BuildOutput
}

/** `folders` are relative to `root`. */
export const bundlePlugins = async (
  folders: readonly string[],
  root: string,
  folder: string,
): Promise<BundledPlugins> => {
  const entries = folders.flatMap(each => entriesIn(each, root))
  mkdirSync(folder, { recursive: true })
  // Source maps are relative to the real path of the bundle.
  const cacheFolder = realpathSync(folder)
  const hashOf = createHasher()
  const candidates = await Promise.all(
    entries.map(async entry => ({
      entry,
      output:
        readCached(entry, cacheFolder, hashOf) ?? (await buildPlugin(entry, root, cacheFolder)),
    })),
  )
  const { plugins, problems } = selectPlugins(candidates)
  const inputs = new Set(candidates.flatMap(({ output }) => Object.keys(output.sources)))
  return {
    bundles: plugins.flatMap(({ output }) => output.bundle ?? []),
    brokenNames: plugins.flatMap(({ entry, output }) =>
      output.problems.length > 0 ? [entry.name] : [],
    ),
    problems: [...problems, ...plugins.flatMap(({ output }) => output.problems)],
    inputs: [...inputs].filter(path => !path.includes('/node_modules/')),
  }
}

/** Selects the plugins; reports each with an invalid or duplicate name. */
const selectPlugins = (candidates: readonly Candidate[]) => {
  const plugins = new Map<string, Candidate>()
  const problems: Problem[] = []
  for (const candidate of candidates) {
    const { entry, output } = candidate
    if (!output.bundle && output.problems.length === 0) continue
    const fault = nameFault(entry.name, plugins.get(entry.name)?.entry)
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

/** Build result of a plugin, with the hash of each source by path. */
interface BuildOutput {
  readonly bundle?: Bundle
  readonly problems: readonly Problem[]
  readonly sources: Readonly<Record<string, string>>
}

const buildPlugin = async (
  entry: PluginEntry,
  root: string,
  cacheFolder: string,
): Promise<BuildOutput> => {
  const sources: Record<string, string> = { [entry.path]: '' }
  try {
    const result = await bundle(entry, cacheFolder, sourceReader(sources))
    const [bundleFile] = Object.values(result.metafile.outputs)
    const text = result.outputFiles[0]?.text
    const isPlugin = bundleFile?.exports.includes('default') && text !== undefined
    const output = {
      ...(isPlugin && { bundle: writeBundle(entry, text, cacheFolder) }),
      problems: [],
      sources,
    }
    writeAtomically(cachePath(entry, cacheFolder), JSON.stringify(output))
    return output
  } catch (error) {
    const { errors } = error as BuildFailure
    if (!Array.isArray(errors)) throw error
    const fault = (error: Message) => compileProblem(error, entry, root, cacheFolder)
    return { problems: errors.map(fault), sources }
  }
}

type EsbuildResult = BuildResult<{ write: false; metafile: true }>
const bundle = (
  { name, path }: PluginEntry,
  cacheFolder: string,
  read: BuildPlugin,
): Promise<EsbuildResult> =>
  build({
    entryPoints: [{ in: path, out: name }],
    outdir: cacheFolder,
    absWorkingDir: cacheFolder,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: 'inline',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'silent',
    // The output must not depend on a tsconfig.json in a parent folder.
    tsconfigRaw: '{}',
    plugins: [read],
  })

/** An esbuild plugin that reads and hashes the sources, so that each hash is of the bundled bytes
 *  even if a file is saved during the build. */
const sourceReader = (sources: Record<string, string>) => ({
  name: 'reader',
  setup({ onLoad }: PluginBuild) {
    onLoad({ filter: /./, namespace: 'file' }, ({ path }) => {
      const contents = readFileSync(path)
      sources[path] = digest(contents)
      return { contents, loader: 'default' as const }
    })
  },
})

/** CommonJS packages load Node modules by `require`, which an ES module does not have. */
const REQUIRE =
  "import{createRequire as $require}from'node:module';var require=$require(import.meta.url);"

const writeBundle = ({ name, file }: PluginEntry, text: string, cacheFolder: string): Bundle => {
  const code = text.includes('Dynamic require of') ? REQUIRE + text : text
  const hash = digest(code)
  const path = join(cacheFolder, `${name}-${hash}.mjs`)
  if (!existsSync(path)) writeAtomically(path, code)
  return { name, file, bundle: path, hash }
}

/** Writes a file atomically, since another process may read it at any time. */
export const writeAtomically = (path: string, text: string): void => {
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, text)
  renameSync(temporary, path)
}

/** Path of the cached build result. It depends on the real path of the source, since a link may
 *  change. */
const cachePath = ({ path, file, name }: PluginEntry, cacheFolder: string): string =>
  join(cacheFolder, `${name}-${digest(`${version}${REQUIRE}${file}\0${realpathSync(path)}`)}.json`)

/** Hashes each file once, since plugins share sources. */
const createHasher = (): ((path: string) => string) => {
  const hashes = new Map<string, string>()
  return path => {
    const hash = hashes.get(path) ?? digest(readFileSync(path))
    hashes.set(path, hash)
    return hash
  }
}

const readCached = (
  entry: PluginEntry,
  cacheFolder: string,
  hashOf: (path: string) => string,
): BuildOutput | undefined => {
  try {
    const output = JSON.parse(readFileSync(cachePath(entry, cacheFolder), 'utf8')) as BuildOutput
    const same = Object.entries(output.sources).every(
      ([path, hash]) => hash === '' || hashOf(path) === hash,
    )
    if (!same || (output.bundle && !existsSync(output.bundle.bundle))) return undefined
    if (output.bundle) touch(output.bundle.bundle)
    return output
  } catch {
    // No cached result, or a source is missing: bundle again.
    return undefined
  }
}
/** Updates the time of a file in use, so that it is not pruned. */
export const touch = (path: string): void => {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // The file belongs to another user.
  }
}
const digest = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

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
