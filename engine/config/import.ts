/** Imports bundled plugins and checks their members. Workers load only this part of the
 *  configuration code. */
import { setSourceMapsSupport } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isFields } from '../kit.ts'
import type { Plugin } from '../plugin.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { ENDPOINT, ENDPOINTS } from './admin-endpoints.ts'
import type { Blueprint, Bundle } from './compile/blueprint.ts'
import { compile } from './compile/compile.ts'
import { formatPath } from './format-path.ts'
import { defineProblems, type Place, type Problem } from './problem.ts'
import { SECTIONS } from './schema.ts'

const problem = defineProblems({
  PLUGIN_THREW: 'the plugin %j threw while it was imported: %s',
  PLUGIN_SHAPE: 'the plugin %j %s',
  PLUGIN_CLASH: 'the plugin %j adds the %s %j, which %s already defines',
})
/** Longest import or setup of a plugin, ms, so that a pending promise does not block a reload. */
const MAX_MS = 10_000

const within = async <T>(limit: number, run: () => Promise<T>): Promise<T> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`did not finish in ${limit} ms`)), limit)
  try {
    return await Promise.race([run(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Imports a bundle. Node caches one module per path, and the path changes with the content. */
export const importPlugin = async ({ bundle }: Bundle, limit = MAX_MS): Promise<Plugin> => {
  // Stacks then show the source file and line instead of those of the bundle.
  setSourceMapsSupport(true, { nodeModules: false, generatedCode: false })
  const { default: plugin } = await within(limit, () => import(pathToFileURL(bundle).href))
  const fault = shapeFault(plugin)
  if (fault) throw new ShapeError(fault)
  return plugin
}
class ShapeError extends Error {}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const isFunction = (value: unknown): boolean => typeof value === 'function'
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
const isEndpoints = (value: unknown): boolean =>
  isFields(value) &&
  Object.entries(value as object).every(([name, each]) => ENDPOINT.test(name) && isFunction(each))
/** Types of plugin members; those in `REQUIRED` must exist. */
const SHAPES = [
  ['an object', isObject, ['schema', 'sections', 'upstream', 'migrations', 'commands']],
  ['an array of names', isNames, ['needs', 'before', 'after']],
  ['a function', isFunction, ['setup', 'check', 'welcome']],
  ['an object of functions, by `METHOD /-/path`', isEndpoints, ['admin']],
] as const
const REQUIRED: readonly string[] = ['schema', 'setup']
const shapeFault = (plugin: unknown): string | undefined => {
  if (!isObject(plugin)) return 'must export an object as its default'
  const members = plugin as Readonly<Record<string, unknown>>
  for (const [description, fits, names] of SHAPES)
    for (const name of names) {
      const absent = members[name] === undefined && !REQUIRED.includes(name)
      if (!absent && !fits(members[name])) return `needs its member "${name}" to be ${description}`
    }
  return undefined
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
  // Imported one after another: if one blocks the process, the last reported file is the cause.
  for (const bundle of bundles) {
    const { name, file } = bundle
    const start = { file, line: 1, column: 1 }
    progress(file)
    try {
      const plugin = await importPlugin(bundle)
      plugins.set(name, withTimeLimit(plugin, file, progress))
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      if (error instanceof ShapeError)
        problems.push(problem('PLUGIN_SHAPE', start, [name, error.message]))
      else {
        const place = placeInStack(error.stack, root, inputs) ?? start
        problems.push(problem('PLUGIN_THREW', place, [name, error.message]))
      }
    }
  }
  return { plugins, problems: [...problems, ...clashes(plugins, bundles)] }
}

/** Wraps a plugin so that `setup` reports its file and has a time limit. */
const withTimeLimit = (plugin: Plugin, file: string, progress: (file: string) => void): Plugin => {
  const setup: Plugin['setup'] = (options, host) => {
    progress(file)
    return within(MAX_MS, async () => plugin.setup(options, host))
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

/** Reports sections, upstream keys and admin endpoints with more than one owner. */
const clashes = (plugins: ReadonlyMap<string, Plugin>, bundles: readonly Bundle[]): Problem[] => {
  const problems: Problem[] = []
  const owners = new Map<string, string>([
    ...SECTIONS.map(name => [`section ${name}`, 'the engine'] as const),
    ...ENDPOINTS.map(name => [`admin endpoint ${name}`, 'the engine'] as const),
  ])
  for (const { name, file } of bundles) {
    const { sections = {}, upstream = {}, admin = {} } = plugins.get(name) ?? {}
    const kinds = { section: sections, 'upstream key': upstream, 'admin endpoint': admin }
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
