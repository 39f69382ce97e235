/** The engine's own rules that no schema can say: names that point nowhere, routes that answer nothing. */

import { isFields } from '../kit.ts'
import type { Document, Json } from '../plugin.ts'
import { readTarget } from '../request/path.ts'
import { nearest } from './nearest.ts'
import { type Problem, problems } from './problem.ts'
import type { Reading } from './read.ts'
import { type Plugins, TAKEN } from './schema.ts'
import type { Path } from './source-positions.ts'

const problem = problems({
  UNKNOWN_PLUGIN:
    'no plugin is called %j: no file of that name in a plugin folder exports a default',
  PLUGIN_ORDER:
    'the plugin %j must stand before %j, as %j declares (%s: [%s]); move it in front of %j',
  NOT_IN_PIPELINE: 'the plugin %j is not in the pipeline, so it would never run',
  UNKNOWN_UPSTREAM: 'no upstream is called %j',
  UNKNOWN_PARAMETER: 'the path %s has no parameter {%s}',
  DUPLICATE_ROUTE: '%s %s is routed twice; first at %s:%d:%d',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
  UNREACHABLE_ROUTE: 'no request can come to %s: %s',
  ROUTE_PATTERN: '%s: a parameter is written {name}, one in a segment, each name once',
})

interface Ground {
  readonly document: Document
  readonly routes: readonly { readonly [key: string]: Json }[]
  /** Names, also of plugins that could not be loaded. */
  readonly plugins: readonly string[]
  readonly loaded: Plugins
  readonly reading: Reading
  say(
    code: Parameters<typeof problem>[0],
    where: Path,
    args?: readonly unknown[],
    hint?: string,
  ): void
}

/** Judges what has the right shape and leaves the rest to the schema. */
export const rules = (
  document: Document,
  reading: Reading,
  plugins: readonly string[],
  loaded: Plugins,
): Problem[] => {
  const found: Problem[] = []
  const ground: Ground = {
    ...{ document, reading, plugins, loaded },
    routes: listOf(document.routes).map(mapOf),
    say: (code, where, args = [], hint) => {
      const what = code === 'NOT_IN_PIPELINE' && where[0] === 'routes' ? 'key' : 'value'
      found.push(problem(code, reading.find(where).place(what), args, hint))
    },
  }
  for (const rule of [pipeline, order, inside, upstreams, patterns, twice]) rule(ground)
  return found
}

const mapOf = (value: Json | undefined) => (isFields(value) ? value : {})
const listOf = (value: Json | undefined) => (Array.isArray(value) ? (value as readonly Json[]) : [])

const pipeline = ({ document, routes, plugins, say }: Ground): void => {
  const order = listOf(document.pipeline)
  for (const [index, name] of order.entries())
    if (typeof name === 'string' && !plugins.includes(name))
      say('UNKNOWN_PLUGIN', ['pipeline', index], [name], nearest(name, plugins))
  for (const [index, route] of routes.entries())
    for (const name of Object.keys(route))
      if (plugins.includes(name) && !TAKEN.has(name) && !order.includes(name))
        say('NOT_IN_PIPELINE', ['routes', index, name], [name])
}

/** Each plugin stands where `before` and `after` of every plugin say. */
const order = ({ document, loaded, say }: Ground): void => {
  const names = listOf(document.pipeline)
  for (const [plugin, { before = [], after = [] }] of loaded) {
    const pairs = [
      ...before.map(other => ['before', plugin, other] as const),
      ...after.map(other => ['after', other, plugin] as const),
    ]
    for (const [word, first, second] of pairs) {
      const [at, limit] = [names.indexOf(first), names.indexOf(second)]
      const declared = word === 'before' ? second : first
      if (limit >= 0 && at > limit)
        say('PLUGIN_ORDER', ['pipeline', at], [first, second, plugin, word, declared, second])
    }
  }
}

/** `url: NAME:` is answered by that plugin. */
const inside = ({ document, plugins, say }: Ground): void => {
  for (const [name, upstream] of Object.entries(mapOf(document.upstreams))) {
    const { url } = mapOf(upstream)
    const plugin = typeof url === 'string' ? /^([a-z][a-z0-9-]*):$/.exec(url)?.[1] : undefined
    const where = ['upstreams', name, 'url']
    if (plugin === undefined) continue
    if (!plugins.includes(plugin)) say('UNKNOWN_PLUGIN', where, [plugin], nearest(plugin, plugins))
    else if (!listOf(document.pipeline).includes(plugin)) say('NOT_IN_PIPELINE', where, [plugin])
  }
}

const upstreams = ({ document, routes, say }: Ground): void => {
  const known = Object.keys(mapOf(document.upstreams))
  const look = (name: Json | undefined, where: Path) => {
    if (typeof name === 'string' && !known.includes(name))
      say('UNKNOWN_UPSTREAM', where, [name], nearest(name, known))
  }
  for (const [index, { upstream }] of routes.entries()) {
    const where = ['routes', index, 'upstream']
    look(upstream, where)
    for (const [place, each] of listOf(upstream).entries())
      if (isFields(each)) look(each.to, [...where, place, 'to'])
      else look(each, [...where, place])
  }
}

const patterns = ({ routes, reading, say }: Ground): void => {
  const seen = new Map<string, { readonly pattern: string; readonly index: number }>()
  for (const [index, { path, rewrite = '' }] of routes.entries()) {
    const [, methods, pattern] = /^([A-Z|]+) (\/\S*)$/.exec(String(path)) ?? []
    if (methods === undefined || pattern === undefined) continue
    const where = ['routes', index, 'path']
    const parameters = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const why = whyUnreachable(pattern)
    if (!isPattern(pattern, parameters)) say('ROUTE_PATTERN', where, [pattern])
    else if (why) say('UNREACHABLE_ROUTE', where, [pattern, why])
    for (const [, name] of String(rewrite).matchAll(/\{(\w+)\}/g))
      if (!parameters.includes(name))
        say('UNKNOWN_PARAMETER', ['routes', index, 'rewrite'], [path, name])
    for (const method of methods.split('|')) {
      const shape = `${method} ${pattern.replace(/\{\w+\}/g, '{}')}`
      const first = seen.get(shape)
      seen.set(shape, first ?? { pattern, index })
      if (!first) continue
      const { file, line, column } = reading.find(['routes', first.index, 'path']).place('value')
      const taken = `${first.pattern} at ${file}:${line}:${column} takes them all`
      if (first.pattern !== pattern) say('UNREACHABLE_ROUTE', where, [pattern, taken])
      else say('DUPLICATE_ROUTE', where, [method, pattern, file, line, column])
    }
  }
}
const isPattern = (pattern: string, parameters: readonly unknown[]) =>
  new Set(parameters).size === parameters.length &&
  !/[{}]/.test(pattern.replace(/\{\w+\}/g, '')) &&
  !pattern.includes('}{')

/** Requests are routed on the canonical form of their path; a pattern of another form meets none. */
const whyUnreachable = (pattern: string): string | undefined => {
  if (pattern.includes('?')) return 'the query is no part of a path'
  const sample = pattern.replace(/[{}]/g, '_')
  try {
    const { path } = readTarget(sample, undefined)
    return path === sample ? undefined : 'requests are brought to their shortest spelling first'
  } catch {
    return 'such requests are refused'
  }
}

const twice = ({ routes, reading, say }: Ground): void => {
  const seen = new Map<Json, number>()
  for (const [index, { name }] of routes.entries()) {
    const first = name === undefined ? undefined : seen.get(name)
    if (name !== undefined) seen.set(name, first ?? index)
    if (first === undefined) continue
    const { file, line, column } = reading.find(['routes', first, 'name']).place('value')
    say('DUPLICATE_NAME', ['routes', index, 'name'], [name, file, line, column])
  }
}
