/** Imports bundled plugins and judges their shape. */
import { setSourceMapsSupport } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from '../plugin.ts'
import type { Bundle } from './blueprint.ts'
import { type Place, type Problem, problems } from './problem.ts'
import { shownPath } from './read.ts'
import { SECTIONS } from './schema.ts'

const problem = problems({
  PLUGIN_THREW: 'the plugin %j threw while it was imported: %s',
  PLUGIN_SHAPE: 'the plugin %j %s',
  PLUGIN_CLASH: 'the plugin %j adds the %s %j, which %s has already',
})
/** Long enough for any plugin, in ms; one that waits for ever must not hold a reload for ever. */
const LIMIT = 10_000

const within = async <T>(limit: number, run: () => Promise<T>): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`did not finish in ${limit} ms`)), limit)
  try {
    return await Promise.race([run(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** The plugin in a bundle. Node keeps one module for a path, and the path changes with the content. */
export const importPlugin = async ({ bundle }: Bundle, limit = LIMIT): Promise<Plugin> => {
  // Stacks then name the operator's file and line, not the bundle's.
  setSourceMapsSupport(true, { nodeModules: false, generatedCode: false })
  const { default: plugin } = await within(limit, () => import(pathToFileURL(bundle).href))
  const fault = shapeFault(plugin)
  if (fault) throw new ShapeError(fault)
  return plugin
}
class ShapeError extends Error {}

const MEMBERS = { schema: 'object', setup: 'function' }
const MORE = {
  sections: 'object',
  upstream: 'object',
  migrations: 'object',
  commands: 'object',
  check: 'function',
  welcome: 'function',
}
const shapeFault = (value: unknown): string | undefined => {
  if (typeof value !== 'object' || value === null) return 'must export an object as its default'
  const members = value as Readonly<Record<string, unknown>>
  for (const [name, type] of Object.entries({ ...MEMBERS, ...MORE })) {
    const member = members[name]
    if (member === undefined && name in MORE) continue
    if (typeof member !== type || member === null)
      return `needs its member "${name}" to be ${type === 'object' ? 'an object' : 'a function'}`
  }
  return undefined
}

export interface Imported {
  readonly plugins: ReadonlyMap<string, Plugin>
  readonly problems: readonly Problem[]
}

/** All plugins that can be had, and what is wrong with the others. `inputs`: absolute paths of their sources. */
export const importPlugins = async (
  bundles: readonly Bundle[],
  root: string,
  inputs: readonly string[],
  progress: (file: string) => void,
): Promise<Imported> => {
  const plugins = new Map<string, Plugin>()
  const found: Problem[] = []
  // One after the other: if one blocks the process, the last file told is the one.
  for (const bundle of bundles) {
    progress(bundle.file)
    try {
      plugins.set(bundle.name, guarded(await importPlugin(bundle), bundle.file, progress))
    } catch (thrown) {
      found.push(importProblem(bundle, thrown as Error, root, inputs))
    }
  }
  found.push(...clashes(plugins, bundles))
  return { plugins, problems: found }
}

/** The same plugin, which says when its code runs and may not set up for ever. */
const guarded = (plugin: Plugin, file: string, progress: (file: string) => void): Plugin => {
  const check: Plugin['check'] = (document, report) => {
    progress(file)
    plugin.check?.(document, report)
  }
  const setup: Plugin['setup'] = (options, host) => {
    progress(file)
    return within(LIMIT, async () => plugin.setup(options, host))
  }
  return Object.create(plugin, {
    setup: { value: setup },
    ...(plugin.check && { check: { value: check } }),
  })
}

const importProblem = (
  { name, file }: Bundle,
  error: Error,
  root: string,
  inputs: readonly string[],
): Problem => {
  const start = { file, line: 1, column: 1 }
  if (error instanceof ShapeError) return problem('PLUGIN_SHAPE', start, [name, error.message])
  return problem('PLUGIN_THREW', placeInStack(error.stack, root, inputs) ?? start, [
    name,
    error.message,
  ])
}

/** The first line of a stack that is the operator's own: neither the engine's nor a package's. */
export const placeInStack = (
  stack: string | undefined,
  root: string,
  inputs: readonly string[],
): Place | undefined => {
  for (const [, path = '', line, column] of (stack ?? '').matchAll(/(\/[^\s():]+):(\d+):(\d+)/g)) {
    const plain = resolve(decodeURI(path))
    if (inputs.includes(plain))
      return { file: shownPath(root, plain), line: Number(line), column: Number(column) }
  }
  return undefined
}

/** A section and a key of upstreams have one owner. */
const clashes = (plugins: ReadonlyMap<string, Plugin>, bundles: readonly Bundle[]): Problem[] => {
  const found: Problem[] = []
  const owners = new Map(SECTIONS.map(name => [`section ${name}`, 'the engine']))
  for (const { name, file } of bundles) {
    const plugin = plugins.get(name)
    const added = [
      ...Object.keys(plugin?.sections ?? {}).map(key => ['section', key] as const),
      ...Object.keys(plugin?.upstream ?? {}).map(key => ['upstream key', key] as const),
    ]
    for (const [kind, key] of added) {
      const owner = owners.get(`${kind} ${key}`)
      owners.set(`${kind} ${key}`, owner ?? file)
      if (owner)
        found.push(problem('PLUGIN_CLASH', { file, line: 1, column: 1 }, [name, kind, key, owner]))
    }
  }
  return found
}
