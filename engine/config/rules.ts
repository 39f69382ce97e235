/** The engine's own rules that no schema can say: names that point nowhere, routes that answer nothing. */
import { readTarget } from '../path.ts'
import type { Json } from '../plugin.ts'
import { nearest } from './nearest.ts'
import type { Path } from './places.ts'
import { type Problem, problems } from './problem.ts'
import type { Reading } from './read.ts'
import { TAKEN } from './schema.ts'

const problem = problems({
  UNKNOWN_PLUGIN: 'no plugin is called %j',
  NOT_IN_PIPELINE: 'the plugin %j is not in the pipeline, so it would never run',
  UNKNOWN_UPSTREAM: 'no upstream is called %j',
  UNKNOWN_PARAMETER: 'the path %s has no parameter {%s}',
  DUPLICATE_ROUTE: '%s %s is routed twice; first at %s:%d:%d',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
  UNREACHABLE_ROUTE: 'no request can have the path %s: %s',
  ROUTE_PATTERN: '%s: a parameter is written {name}, one in a segment, each name once',
  DATABASE_UNSUPPORTED: 'postgres:// is not supported yet; write sqlite: for the embedded database',
})

type Document = Reading['document']
type Say = (
  code: Parameters<typeof problem>[0],
  where: Path,
  args?: readonly unknown[],
  hint?: string,
) => void
type Rule = (document: Document, say: Say, reading: Reading, plugins: readonly string[]) => void

/** Judges what has the right shape and leaves the rest to the schema. */
export const rules = (
  document: Document,
  reading: Reading,
  plugins: readonly string[],
): Problem[] => {
  const found: Problem[] = []
  const say: Say = (code, where, args = [], hint) => {
    const what = KEYED.has(code) ? 'key' : 'value'
    found.push(problem(code, reading.place(where, what), args, hint))
  }
  for (const rule of RULES) rule(document, say, reading, plugins)
  return found
}
const KEYED = new Set(['NOT_IN_PIPELINE'])

const isMap = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const mapOf = (value: Json | undefined) => (isMap(value) ? value : {})
const listOf = (value: Json | undefined) => (Array.isArray(value) ? (value as readonly Json[]) : [])
const routesOf = (document: Document) => listOf(document.routes).map(mapOf)

const database: Rule = (document, say) => {
  const where = ['settings', 'database']
  if (/^postgres/.test(String(mapOf(document.settings).database)))
    say('DATABASE_UNSUPPORTED', where)
}

const pipeline: Rule = (document, say, _reading, plugins) => {
  const order = listOf(document.pipeline)
  for (const [index, name] of order.entries())
    if (typeof name === 'string' && !plugins.includes(name))
      say('UNKNOWN_PLUGIN', ['pipeline', index], [name], nearest(name, plugins))
  for (const [index, route] of routesOf(document).entries())
    for (const name of Object.keys(route))
      if (plugins.includes(name) && !TAKEN.has(name) && !order.includes(name))
        say('NOT_IN_PIPELINE', ['routes', index, name], [name])
}

/** `url: NAME:` is answered by that plugin. */
const inside: Rule = (document, say, _reading, plugins) => {
  const order = listOf(document.pipeline)
  for (const [name, upstream] of Object.entries(mapOf(document.upstreams))) {
    const url = mapOf(upstream).url
    const plugin = typeof url === 'string' ? /^([a-z][a-z0-9-]*):$/.exec(url)?.[1] : undefined
    const where = ['upstreams', name, 'url']
    if (plugin === undefined) continue
    if (!plugins.includes(plugin)) say('UNKNOWN_PLUGIN', where, [plugin], nearest(plugin, plugins))
    else if (!order.includes(plugin)) say('NOT_IN_PIPELINE', where, [plugin])
  }
}

const upstreams: Rule = (document, say) => {
  const known = Object.keys(mapOf(document.upstreams))
  const look = (name: Json | undefined, where: Path) => {
    if (typeof name === 'string' && !known.includes(name))
      say('UNKNOWN_UPSTREAM', where, [name], nearest(name, known))
  }
  for (const [index, { upstream }] of routesOf(document).entries()) {
    const where = ['routes', index, 'upstream']
    look(upstream, where)
    for (const [place, each] of listOf(upstream).entries())
      if (isMap(each)) look(each.to, [...where, place, 'to'])
      else look(each, [...where, place])
  }
}

const paths: Rule = (document, say, reading) => {
  const seen = new Map<string, { readonly pattern: string; readonly index: number }>()
  for (const [index, { path, rewrite }] of routesOf(document).entries()) {
    const [, methods, pattern] = /^([A-Z|]+) (\/\S*)$/.exec(String(path)) ?? []
    if (methods === undefined || pattern === undefined) continue
    const where = ['routes', index, 'path']
    const parameters = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    if (!isPattern(pattern, parameters)) say('ROUTE_PATTERN', where, [pattern])
    else if (!isReachable(pattern)) say('UNREACHABLE_ROUTE', where, [pattern, whyNot(pattern)])
    for (const [, name] of String(rewrite ?? '').matchAll(/\{(\w+)\}/g))
      if (!parameters.includes(name))
        say('UNKNOWN_PARAMETER', ['routes', index, 'rewrite'], [pattern, name])
    const shape = pattern.replace(/\{\w+\}/g, '{}')
    for (const method of methods.split('|')) {
      const first = seen.get(`${method} ${shape}`)
      seen.set(`${method} ${shape}`, first ?? { pattern, index })
      if (!first) continue
      const { file, line, column } = reading.place(['routes', first.index, 'path'])
      const place = `${first.pattern} at ${file}:${line}:${column} takes them all`
      if (first.pattern !== pattern) say('UNREACHABLE_ROUTE', where, [pattern, place])
      else say('DUPLICATE_ROUTE', where, [method, pattern, file, line, column])
    }
  }
}
const isPattern = (pattern: string, parameters: readonly unknown[]) =>
  new Set(parameters).size === parameters.length &&
  !/[{}]/.test(pattern.replace(/\{\w+\}/g, '')) &&
  !/\{\w+\}\{/.test(pattern)

/** Requests are routed on the canonical form of their path; a pattern of another form meets none. */
const canonical = (pattern: string): string | undefined => {
  try {
    return readTarget(pattern.replace(/[{}]/g, '_'), undefined).path
  } catch {
    return undefined
  }
}
const isReachable = (pattern: string) => canonical(pattern) === pattern.replace(/[{}]/g, '_')
const whyNot = (pattern: string) =>
  pattern.includes('?')
    ? 'the query is no part of a path'
    : canonical(pattern) === undefined
      ? 'such requests are refused'
      : 'requests are brought to their shortest spelling first'

const names: Rule = (document, say, reading) => {
  const seen = new Map<string, number>()
  for (const [index, { name }] of routesOf(document).entries()) {
    if (typeof name !== 'string') continue
    const first = seen.get(name)
    seen.set(name, first ?? index)
    if (first === undefined) continue
    const { file, line, column } = reading.place(['routes', first, 'name'])
    say('DUPLICATE_NAME', ['routes', index, 'name'], [name, file, line, column])
  }
}

const RULES: readonly Rule[] = [database, pipeline, inside, upstreams, paths, names]
