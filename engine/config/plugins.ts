/** Bundles each plugin, with all it imports, into a file named by its content. */
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
import { shownPath } from '../snapshot/shown-path.ts'
import type { Bundle } from './compile/blueprint.ts'
import { type Entry, entriesIn } from './plugin-files.ts'
import { type Place, type Problem, problems } from './problem.ts'
import { TAKEN } from './schema.ts'

const problem = problems({
  PLUGIN_SYNTAX: '%s',
  PLUGIN_IMPORT: '%s',
  PLUGIN_NAME: '%j cannot name a plugin: %s',
})

const NAME = /^[a-z][a-z0-9-]*$/

export interface Bundled {
  readonly bundles: readonly Bundle[]
  /** Names of plugins that could not be bundled. */
  readonly broken: readonly string[]
  readonly problems: readonly Problem[]
  /** The operator's own source files that went in, absolute: what to watch. */
  readonly inputs: readonly string[]
}
/** An entry and what esbuild made of it. */
interface Candidate {
  readonly entry: Entry
  readonly made: Made
}

/** `folders` are relative to `root`. */
export const bundlePlugins = async (
  folders: readonly string[],
  root: string,
  folder: string,
): Promise<Bundled> => {
  const entries = folders.flatMap(each => entriesIn(each, root))
  mkdirSync(folder, { recursive: true })
  // A stack leads from where the bundle really lies to its sources.
  const cacheFolder = realpathSync(folder)
  const hashOf = hashing()
  const candidates = await Promise.all(
    entries.map(async entry => ({
      entry,
      made: recall(entry, cacheFolder, hashOf) ?? (await make(entry, root, cacheFolder)),
    })),
  )
  const { plugins, problems } = named(candidates)
  const inputs = new Set(candidates.flatMap(({ made }) => Object.keys(made.sources)))
  return {
    bundles: plugins.flatMap(({ made }) => made.bundle ?? []),
    broken: plugins.flatMap(({ entry, made }) => (made.problems.length > 0 ? [entry.name] : [])),
    problems: [...problems, ...plugins.flatMap(({ made }) => made.problems)],
    inputs: [...inputs].filter(path => !path.includes('/node_modules/')),
  }
}

/** Those that are plugins, and a problem for each that cannot have its name. */
const named = (candidates: readonly Candidate[]) => {
  const plugins = new Map<string, Candidate>()
  const problems: Problem[] = []
  for (const candidate of candidates) {
    const { entry, made } = candidate
    if (!made.bundle && made.problems.length === 0) continue
    const fault = nameFault(entry.name, plugins.get(entry.name)?.entry)
    if (fault) problems.push(problem('PLUGIN_NAME', start(entry.file), [entry.name, fault]))
    else plugins.set(entry.name, candidate)
  }
  return { plugins: [...plugins.values()], problems }
}
const nameFault = (name: string, other: Entry | undefined): string | undefined => {
  if (!NAME.test(name)) return 'lower-case letters, digits and - only, a letter first'
  if (TAKEN.has(name)) return 'routes have a key of that name'
  return other && `${other.file} has that name already`
}
const start = (file: string): Place => ({ file, line: 1, column: 1 })

/** What was made of which sources (path to hash). */
interface Made {
  readonly bundle?: Bundle
  readonly problems: readonly Problem[]
  readonly sources: Readonly<Record<string, string>>
}

const make = async (entry: Entry, root: string, cacheFolder: string): Promise<Made> => {
  const sources: Record<string, string> = { [entry.path]: '' }
  try {
    const result = await bundle(entry, cacheFolder, reader(sources))
    const [output] = Object.values(result.metafile.outputs)
    const text = result.outputFiles[0]?.text
    const plugin = output?.exports.includes('default') && text !== undefined
    const made = {
      ...(plugin && { bundle: keep(entry, text, cacheFolder) }),
      problems: [],
      sources,
    }
    whole(memoryOf(entry, cacheFolder), JSON.stringify(made))
    return made
  } catch (thrown) {
    const { errors } = thrown as BuildFailure
    if (!Array.isArray(errors)) throw thrown
    const fault = (error: Message) => compileProblem(error, entry, root, cacheFolder)
    return { problems: errors.map(fault), sources }
  }
}

type Built = BuildResult<{ write: false; metafile: true }>
const bundle = ({ name, path }: Entry, cacheFolder: string, read: BuildPlugin): Promise<Built> =>
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
    // The same bytes whatever tsconfig.json stands about.
    tsconfigRaw: '{}',
    plugins: [read],
  })

/** Reads for esbuild, so that the hash is of the very bytes that were bundled, whatever is saved meanwhile. */
const reader = (sources: Record<string, string>) => ({
  name: 'reader',
  setup({ onLoad }: PluginBuild) {
    onLoad({ filter: /./, namespace: 'file' }, ({ path }) => {
      const contents = readFileSync(path)
      sources[path] = digest(contents)
      return { contents, loader: 'default' as const }
    })
  },
})

/** CommonJS packages reach Node's own modules through `require`, which an ES module does not have. */
const REQUIRE =
  "import{createRequire as $require}from'node:module';var require=$require(import.meta.url);"

const keep = ({ name, file }: Entry, text: string, cacheFolder: string): Bundle => {
  const code = text.includes('Dynamic require of') ? REQUIRE + text : text
  const hash = digest(code)
  const path = join(cacheFolder, `${name}-${hash}.mjs`)
  if (!existsSync(path)) whole(path, code)
  return { name, file, bundle: path, hash }
}

/** Another process may read it at any time: it appears whole or not at all. */
export const whole = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}

/** Unchanged plugins cost the reading of their sources and no more. A link that moved is another plugin. */
const memoryOf = ({ path, file, name }: Entry, cacheFolder: string): string =>
  join(cacheFolder, `${name}-${digest(`${version}${REQUIRE}${file}\0${realpathSync(path)}`)}.json`)

/** What plugins share is read once. */
const hashing = (): ((path: string) => string) => {
  const known = new Map<string, string>()
  return path => {
    const hash = known.get(path) ?? digest(readFileSync(path))
    known.set(path, hash)
    return hash
  }
}

const recall = (
  entry: Entry,
  cacheFolder: string,
  hashOf: (path: string) => string,
): Made | undefined => {
  try {
    const made = JSON.parse(readFileSync(memoryOf(entry, cacheFolder), 'utf8')) as Made
    const same = Object.entries(made.sources).every(
      ([path, hash]) => hash === '' || hashOf(path) === hash,
    )
    if (!same || (made.bundle && !existsSync(made.bundle.bundle))) return undefined
    if (made.bundle) touch(made.bundle.bundle)
    return made
  } catch {
    // No memory, or one of its sources is gone: it is bundled again.
    return undefined
  }
}
/** What is in use stays, however old it is. */
export const touch = (path: string): void => {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // It is somebody else's, who keeps it.
  }
}
const digest = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

const compileProblem = (
  { text, location }: Message,
  entry: Entry,
  root: string,
  cacheFolder: string,
): Problem => {
  const code = /^Could not resolve|^No matching export/.test(text)
    ? 'PLUGIN_IMPORT'
    : 'PLUGIN_SYNTAX'
  if (!location) return problem(code, start(entry.file), [text])
  const { file, line, column, length, lineText } = location
  // esbuild counts bytes, editors count characters.
  const before = Buffer.from(lineText).subarray(0, column).toString().length
  const path = resolve(cacheFolder, file)
  return problem(code, { file: shownPath(root, path), line, column: before + 1, length }, [text])
}
