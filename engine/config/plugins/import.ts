/** Imports bundled plugins and checks their members. Workers load only this part of the
 *  configuration code. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import { ENDPOINTS } from '../admin-endpoints.ts'
import type { Blueprint, Bundle } from '../compile/blueprint.ts'
import { compile } from '../compile/compile.ts'
import { formatPath } from '../format-path.ts'
import { defineProblems, type Place, type Problem } from '../problem.ts'
import { SECTIONS } from '../schema.ts'
import { type StartedResource, watchImport } from './import-watch.ts'
import { type MemberFault, pluginFault } from './members.ts'
import { importModule, loadScript } from './program.ts'
import { mapStacks } from './source-maps.ts'

const problem = defineProblems({
  PLUGIN_THREW: 'the plugin %j threw while it was imported: %s',
  PLUGIN_SHAPE: 'the plugin %j %s',
  PLUGIN_TIMER:
    'the plugin %j starts %s while it is imported: every reload and every worker would start one more; use `host.job`, or start it in `setup` and end it in `close` of a `host.share` object',
  PLUGIN_CLASH: 'the plugin %j adds the %s %j, which %s already defines',
})
/** Longest import or setup of a plugin, ms, so that a pending promise does not block a reload. */
const MAX_MS = 10_000

/** `what`: the subject of the error. */
const within = async <T>(limit: number, what: string, run: () => Promise<T>): Promise<T> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const fail = (): void => reject(new Error(`${what} did not finish in ${limit} ms`))
  const timer = setTimeout(fail, limit)
  try {
    return await Promise.race([run(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Imports a bundle. Node caches one module per path, and the path changes with the content. */
export const importPlugin = async (bundle: Bundle, limit = MAX_MS): Promise<Plugin> => {
  mapStacks()
  const { name, file, bundle: path, isShipped } = bundle
  const { href } = pathToFileURL(path)
  const plugin = isShipped
    ? (loadScript(path) as Record<string, unknown>)[name]
    : (await within(limit, `the import of ${file}`, () => importModule(href))).default
  const fault = pluginFault(plugin)
  if (fault) throw new ShapeError(fault)
  return plugin as Plugin
}
class ShapeError extends Error {
  readonly suggestion: string | undefined
  constructor({ message, suggestion }: MemberFault) {
    super(message)
    this.suggestion = suggestion
  }
}

/** Compiles the snapshot of a blueprint in a worker. Throws CompileError. */
export const fromBlueprint = async (
  blueprint: Blueprint,
  resources: Resources,
): Promise<Snapshot> => {
  const plugins = await Promise.all(
    blueprint.plugins.map(async bundle => [bundle.name, await importPlugin(bundle)] as const),
  )
  return compile(blueprint, new Map(plugins), resources)
}

/** Imports all plugins; failures become problems. `inputs`: absolute paths of their sources. */
export const importPlugins = async (
  bundles: readonly Bundle[],
  root: string,
  inputs: readonly string[],
  progress: (file: string) => void,
): Promise<{ plugins: ReadonlyMap<string, Plugin>; problems: readonly Problem[] }> => {
  const plugins = new Map<string, Plugin>()
  const problems: Problem[] = []
  /** An error in the script of the shipped plugins is that of each. */
  const reportedErrors = new Set<unknown>()
  // Imported one after another: if one blocks the process, the last reported file is the cause.
  for (const bundle of bundles) {
    const { name, file } = bundle
    const start = { file, line: 1, column: 1 }
    progress(file)
    const watch = watchImport()
    try {
      const plugin = await importPlugin(bundle)
      for (const { what, stack } of resourcesStartedBy(plugin, await watch.end())) {
        const place = placeInStack(stack, root, inputs) ?? start
        problems.push(problem('PLUGIN_TIMER', place, [name, what]))
      }
      plugins.set(name, withTimeLimit(plugin, { name, file }, progress))
    } catch (cause) {
      if (reportedErrors.has(cause)) continue
      reportedErrors.add(cause)
      const error = cause instanceof Error ? cause : new Error(String(cause))
      if (error instanceof ShapeError)
        problems.push(problem('PLUGIN_SHAPE', start, [name, error.message], error.suggestion))
      else {
        const place = placeInStack(error.stack, root, inputs) ?? start
        // The script of the shipped plugins runs as a whole, for the first of them.
        const thrower = bundles.find(each => each.file === place.file)?.name ?? name
        problems.push(problem('PLUGIN_THREW', place, [thrower, error.message]))
      }
    } finally {
      await watch.end()
    }
  }
  return { plugins, problems: [...problems, ...clashes(plugins, bundles)] }
}

/** The things that the module of a plugin has started: it is refused. A module runs once in a
 *  process, so it is known for later imports of it, too. */
const resourcesStartedBy = (() => {
  const known = new WeakMap<Plugin, readonly StartedResource[]>()
  return (plugin: Plugin, started: readonly StartedResource[]): readonly StartedResource[] => {
    const all = known.get(plugin) ?? started
    known.set(plugin, all)
    return all
  }
})()

/** Wraps a plugin so that `setup` reports its file and has a time limit. */
const withTimeLimit = (
  plugin: Plugin,
  { name, file }: Pick<Bundle, 'name' | 'file'>,
  progress: (file: string) => void,
): Plugin => {
  const setup: Plugin['setup'] = (options, host) => {
    progress(file)
    const stage = plugin.setup(options, host)
    // Nearly every setup is finished by now.
    if (!(stage instanceof Promise)) return stage
    return within(MAX_MS, `the setup of the plugin "${name}" (${file})`, () => stage)
  }
  return Object.create(plugin, { setup: { value: setup } })
}

/** The first stack line in a plugin source, neither in the engine nor in a package. */
export const placeInStack = (
  stack: string | undefined,
  root: string,
  inputs: readonly string[],
): Place | undefined => {
  for (const [, path = '', line, column] of (stack ?? '').matchAll(/(\/[^\s():]+):(\d+):(\d+)/g)) {
    const plain = resolve(decodeURI(path))
    if (inputs.includes(plain))
      return { file: formatPath(root, plain), line: Number(line), column: Number(column) }
  }
  return undefined
}

/** Reports sections, upstream keys, admin endpoints and formats with more than one owner. */
const clashes = (plugins: ReadonlyMap<string, Plugin>, bundles: readonly Bundle[]): Problem[] => {
  const problems: Problem[] = []
  const owners = new Map<string, string>([
    ...SECTIONS.map(name => [`section ${name}`, 'the engine'] as const),
    ...ENDPOINTS.map(name => [`admin endpoint ${name}`, 'the engine'] as const),
  ])
  const isListed = bundles.some(({ name }) => plugins.get(name)?.formats)
  for (const { name, file } of isListed ? bundles : [])
    for (const format of listedFormats(plugins.get(name))) owners.set(`format ${format}`, file)
  for (const { name, file } of bundles) {
    const { sections = {}, upstream = {}, admin = {}, formats = {} } = plugins.get(name) ?? {}
    const kinds = {
      section: sections,
      'upstream key': upstream,
      'admin endpoint': admin,
      format: formats,
    }
    for (const [kind, keys] of Object.entries(kinds))
      for (const key of Object.keys(keys)) {
        const owner = owners.get(`${kind} ${key}`)
        owners.set(`${kind} ${key}`, owner ?? file)
        const place = { file, line: 1, column: 1 }
        if (owner) problems.push(problem('PLUGIN_CLASH', place, [name, kind, key, owner]))
      }
  }
  return problems
}

/** The formats that the schemas of a plugin list: those that it has itself. */
const listedFormats = ({ schema, upstream, sections }: Partial<Plugin> = {}): readonly string[] => {
  const names: string[] = []
  JSON.stringify([schema, upstream, sections], (_, value) => {
    if (value?.$comment === 'formats' && Array.isArray(value.enum)) names.push(...value.enum)
    return value
  })
  return names
}
