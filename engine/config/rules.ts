/** Rules of the engine that a schema cannot express: references, plugin order, reachable routes. */
import { isFields } from '../kit.ts'
import type { Document, Json } from '../plugin.ts'
import { isLoopback, parseListenAddress } from '../processes/listen-address.ts'
import { readTarget } from '../request/path.ts'
import { type KeyOptions, readKeys } from './compile/keys.ts'
import { choicesFor, nearest } from './nearest.ts'
import { defineProblems, type Problem } from './problem.ts'
import type { Reading } from './read.ts'
import { type Plugins, RESERVED_NAMES } from './schema.ts'
import type { Path } from './yaml/source-positions.ts'

const problem = defineProblems({
  UNKNOWN_PLUGIN:
    'no plugin is named %j: no file of that name in a plugin folder has a default export',
  PLUGIN_ORDER:
    'the plugin %j must come before %j, as %j declares (%s: [%s]); move it in front of %j',
  NO_PIPELINE:
    'the plugin %j would never run: there is no `pipeline:`, which lists the plugins in their order',
  NOT_IN_PIPELINE: 'the plugin %j is not in the pipeline, so it would never run',
  UNKNOWN_UPSTREAM: 'no upstream is named %j%s',
  UNUSED_KEY:
    'the key of %j would never be sent, since the plugin %j signs its requests; remove `key:` or `auth:`',
  SAME_ADDRESS: 'settings.listen and settings.admin are both %s; give one of them another port',
  METRICS_KEY:
    'settings.admin is %s, which other machines reach: set settings.metrics_key, for example to ${METRICS_KEY}, which Prometheus sends (at least 16 characters), or use 127.0.0.1',
  UNKNOWN_PARAMETER: 'the path %s has no parameter {%s}',
  DUPLICATE_ROUTE: '%s %s has two routes; the first is at %s:%d:%d',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
  UNREACHABLE_ROUTE: 'no request can match %s: %s',
  ROUTE_PATTERN: '%s: write a parameter as {name}, at most one per segment, each name once',
})

interface RuleContext {
  readonly document: Document
  readonly routes: readonly { readonly [key: string]: Json }[]
  /** Names of all plugins, also of those that could not be loaded. */
  readonly plugins: readonly string[]
  readonly pluginsByName: Plugins
  readonly reading: Reading
  report(
    code: Parameters<typeof problem>[0],
    where: Path,
    args?: readonly unknown[],
    hint?: string,
  ): void
}

/** Checks only values of the right type; the schema reports the others. */
export const checkRules = (
  document: Document,
  reading: Reading,
  plugins: readonly string[],
  pluginsByName: Plugins,
): Problem[] => {
  const problems: Problem[] = []
  const context: RuleContext = {
    document,
    reading,
    plugins,
    pluginsByName,
    routes: listOf(document.routes).map(mapOf),
    report: (code, where, args = [], hint) => {
      const what = /PIPELINE$/.test(code) && where[0] === 'routes' ? 'key' : 'value'
      problems.push(problem(code, reading.find(where).place(what), args, hint))
    },
  }
  for (const rule of [
    checkPipeline,
    checkOrder,
    checkInProcessUpstreams,
    checkUpstreams,
    checkKeys,
    checkAddresses,
    checkPatterns,
    checkDuplicateNames,
  ])
    rule(context)
  return problems
}

const mapOf = (value: Json | undefined) => (isFields(value) ? value : {})
const listOf = (value: Json | undefined) => (Array.isArray(value) ? (value as readonly Json[]) : [])

/** One problem if the whole order is missing, and none if its name or type is wrong: another
 *  problem says so. */
const checkPipeline = (context: RuleContext): void => {
  const { document, plugins, report } = context
  const order = listOf(document.pipeline)
  for (const [index, name] of order.entries())
    if (typeof name === 'string' && !plugins.includes(name))
      report('UNKNOWN_PLUGIN', ['pipeline', index], [name], nearest(name, plugins))
  const uses = [...usesOfPlugins(context)].filter(({ name }) => !order.includes(name))
  if (Array.isArray(document.pipeline))
    for (const { name, where } of uses) report('NOT_IN_PIPELINE', where, [name])
  else if (uses[0] && document.pipeline === undefined && !isMisspelt('pipeline', document))
    report('NO_PIPELINE', uses[0].where, [uses[0].name])
}
/** Plugins that routes and upstreams name. */
function* usesOfPlugins({ document, routes, plugins }: RuleContext) {
  for (const [index, route] of routes.entries())
    for (const name of Object.keys(route))
      if (plugins.includes(name) && !RESERVED_NAMES.has(name))
        yield { name, where: ['routes', index, name] as Path }
  for (const [upstream, { url }] of upstreamsIn(document)) {
    const name = inProcessPlugin(url)
    if (name !== undefined && plugins.includes(name))
      yield { name, where: ['upstreams', upstream, 'url'] as Path }
  }
}
const upstreamsIn = (document: Document) =>
  Object.entries(mapOf(document.upstreams)).map(([name, each]) => [name, mapOf(each)] as const)
/** `NAME:` as a URL names the plugin that serves the upstream. */
const inProcessPlugin = (url: Json | undefined): string | undefined =>
  typeof url === 'string' ? /^([a-z][a-z0-9-]*):$/.exec(url)?.[1] : undefined
const isMisspelt = (name: string, document: Document): boolean =>
  Object.keys(document).some(each => nearest(each, [name]) !== undefined)

/** Checks the pipeline order against `before` and `after` of every plugin. */
const checkOrder = ({ document, pluginsByName, report }: RuleContext): void => {
  const names = listOf(document.pipeline)
  for (const [plugin, { before = [], after = [] }] of pluginsByName) {
    const pairs = [
      ...before.map(other => ['before', plugin, other] as const),
      ...after.map(other => ['after', other, plugin] as const),
    ]
    for (const [word, first, second] of pairs) {
      const [at, limit] = [names.indexOf(first), names.indexOf(second)]
      const declaredName = word === 'before' ? second : first
      if (limit >= 0 && at > limit)
        report(
          'PLUGIN_ORDER',
          ['pipeline', at],
          [first, second, plugin, word, declaredName, second],
        )
    }
  }
}

const checkInProcessUpstreams = ({ document, plugins, report }: RuleContext): void => {
  for (const [name, { url }] of upstreamsIn(document)) {
    const plugin = inProcessPlugin(url)
    if (plugin !== undefined && !plugins.includes(plugin))
      report('UNKNOWN_PLUGIN', ['upstreams', name, 'url'], [plugin], nearest(plugin, plugins))
  }
}

const checkUpstreams = ({ document, routes, report }: RuleContext): void => {
  const names = Object.keys(mapOf(document.upstreams))
  const checkName = (name: Json | undefined, where: Path) => {
    if (typeof name !== 'string' || names.includes(name)) return
    const { choices, suggestion } = choicesFor(name, 'upstreams', names)
    report('UNKNOWN_UPSTREAM', where, [name, choices], suggestion)
  }
  for (const [index, { upstream }] of routes.entries()) {
    const where = ['routes', index, 'upstream']
    checkName(upstream, where)
    for (const [position, each] of listOf(upstream).entries())
      if (isFields(each)) checkName(each.to, [...where, position, 'to'])
      else checkName(each, [...where, position])
  }
}

const checkAddresses = ({ document, report }: RuleContext): void => {
  const { listen, admin, metrics_key: key } = mapOf(document.settings)
  // For port 0 the system gives each a port of its own.
  if (typeof listen === 'string' && listen === admin && !/:0$/.test(listen))
    report('SAME_ADDRESS', ['settings', 'admin'], [listen])
  const isOpen = typeof admin === 'string' && !isLoopback(parseListenAddress(admin).host)
  if (isOpen && (key ?? '') === '') report('METRICS_KEY', ['settings', 'admin'], [admin])
}

const isKey = (value: Json | undefined): value is Json & KeyOptions =>
  [value].flat().every(each => typeof (isFields(each) ? each.key : each) === 'string')
/** Checks that no upstream has both a key and a plugin that signs. */
const checkKeys = ({ document, pluginsByName, report }: RuleContext): void => {
  for (const [name, upstream] of Object.entries(mapOf(document.upstreams))) {
    const { key, auth } = mapOf(upstream)
    const signer = Object.keys(mapOf(auth)).find(each => pluginsByName.get(each)?.auth)
    if (signer !== undefined && isKey(key) && readKeys(key).length > 0)
      report('UNUSED_KEY', ['upstreams', name, 'key'], [name, signer])
  }
}

const checkPatterns = ({ routes, reading, report }: RuleContext): void => {
  const routesByShape = new Map<string, { readonly pattern: string; readonly index: number }>()
  for (const [index, { path, rewrite = '' }] of routes.entries()) {
    const [, methods, pattern] = /^([A-Z|]+) (\/\S*)$/.exec(String(path)) ?? []
    if (methods === undefined || pattern === undefined) continue
    const where = ['routes', index, 'path']
    const parameters = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const reason = unreachableReason(pattern)
    if (!isPattern(pattern, parameters)) report('ROUTE_PATTERN', where, [pattern])
    else if (reason) report('UNREACHABLE_ROUTE', where, [pattern, reason])
    for (const [, name] of String(rewrite).matchAll(/\{(\w+)\}/g))
      if (!parameters.includes(name))
        report('UNKNOWN_PARAMETER', ['routes', index, 'rewrite'], [path, name])
    for (const method of methods.split('|')) {
      const shape = `${method} ${pattern.replace(/\{\w+\}/g, '{}')}`
      const first = routesByShape.get(shape)
      routesByShape.set(shape, first ?? { pattern, index })
      if (!first) continue
      const { file, line, column } = reading.find(['routes', first.index, 'path']).place('value')
      const earlier = `${first.pattern} at ${file}:${line}:${column} matches all of them`
      if (first.pattern !== pattern) report('UNREACHABLE_ROUTE', where, [pattern, earlier])
      else report('DUPLICATE_ROUTE', where, [method, pattern, file, line, column])
    }
  }
}
const isPattern = (pattern: string, parameters: readonly unknown[]) =>
  new Set(parameters).size === parameters.length &&
  !/[{}]/.test(pattern.replace(/\{\w+\}/g, '')) &&
  !pattern.includes('}{')

/** Requests are matched by their canonical path; a pattern in another form matches none. */
const unreachableReason = (pattern: string): string | undefined => {
  if (pattern.includes('?')) return 'the query is not part of the path'
  const sample = pattern.replace(/[{}]/g, '_')
  try {
    const { path } = readTarget(sample, undefined)
    return path === sample ? undefined : 'request paths are normalised first'
  } catch {
    return 'such requests are refused'
  }
}

const checkDuplicateNames = ({ routes, reading, report }: RuleContext): void => {
  const indexByName = new Map<Json, number>()
  for (const [index, { name }] of routes.entries()) {
    const first = name === undefined ? undefined : indexByName.get(name)
    if (name !== undefined) indexByName.set(name, first ?? index)
    if (first === undefined) continue
    const { file, line, column } = reading.find(['routes', first, 'name']).place('value')
    report('DUPLICATE_NAME', ['routes', index, 'name'], [name, file, line, column])
  }
}
