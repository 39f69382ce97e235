/** Problems of `models:` that a schema cannot find: unknown upstreams and routes, unusable or
 *  shadowed patterns. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { choicesFor, nearest } from '../../engine/config/nearest.ts'
import type { CheckHostOf, Document, HostBase, Json, Report } from '../../engine/plugin.ts'
import { bySpecificity, fallbacksOf } from '../catalogue/catalogue.ts'
import { modelsIn, namesIn } from '../catalogue/configured.ts'
import { isPattern, type Pattern, parsePattern } from '../catalogue/pattern.ts'
import type { ModelOptions } from '../catalogue/section.ts'
import { targetsOf } from '../catalogue/targets.ts'
import { validatorOf } from '../schema/compile.ts'
import { checkAliases } from './alias-problems.ts'
import { checkRules } from './rule-problems.ts'

export const problemsIn = (
  document: Document,
  report: Report,
  { memo, before }: Pick<CheckHostOf<HostBase>, 'memo' | 'before'>,
): void => {
  const section = modelsIn(document)
  const upstreams = new Set(upstreamNames(document))
  const routes = new Set(routeNames(document))
  const known = before && hasSameNames(document, before) ? modelsIn(before) : {}
  checkNamedModels(document, section, report)
  if (known === section) return
  checkAliases(section, report)
  const hasTags = stagesOf(document).includes('tags')
  const patterns: Pattern[] = []
  const schemas = sharedSchemas(memo)
  for (const [name, options] of Object.entries(section)) {
    const pattern = isPattern(name) ? patternOf(name, report) : undefined
    if (pattern) patterns.push(pattern)
    if (known[name] === options) continue
    checkTargets(['models', name], options, pattern, upstreams, report)
    for (const [index, { to }] of (options.rules ?? []).entries())
      if (to !== undefined)
        checkTargets(['models', name, 'rules', index], { to }, pattern, upstreams, report)
    checkDiscovery(name, options, pattern, report)
    checkRoutes(name, options, routes, schemas, report)
    checkCosts(name, options, report)
    checkRules(name, options, { upstreams, hasTags }, report)
  }
  checkShadows(patterns, report)
  checkFallbacks(section, patterns, report)
}

interface RouteEntry {
  readonly name?: string
  readonly path: string
  readonly model?: Json
}
const routesIn = ({ routes }: Document): readonly RouteEntry[] =>
  (routes ?? []) as unknown as readonly RouteEntry[]

const ignore: Report = () => {}

/** Routes whose bodies name no model: `model: { name: … }`. */
const checkNamedModels = (
  document: Document,
  section: Readonly<Record<string, ModelOptions>>,
  report: Report,
): void => {
  for (const [index, { model }] of routesIn(document).entries()) {
    const { name } = Object(model) as { readonly name?: Json }
    if (typeof name !== 'string') continue
    const names = namesIn(section)
    if (names.includes(name)) continue
    if (names.some(each => isPattern(each) && patternOf(each, ignore)?.match(name))) continue
    const { choices, suggestion } = choicesFor(name, 'models', names)
    const message = `there is no model named ${JSON.stringify(name)}${choices}`
    report(['routes', index, 'model', 'name'], 'UNKNOWN_MODEL', message, suggestion)
  }
}

const upstreamNames = ({ upstreams }: Document): readonly string[] =>
  Object.keys((upstreams ?? {}) as object)
/** Whether a model that has not changed names the same upstreams and routes as before, and the same
 *  stages run. */
const hasSameNames = (document: Document, before: Document): boolean =>
  isDeepStrictEqual(
    [upstreamNames(document), routeNames(document), stagesOf(document)],
    [upstreamNames(before), routeNames(before), stagesOf(before)],
  )
const stagesOf = ({ pipeline }: Document): readonly Json[] =>
  Array.isArray(pipeline) ? pipeline : []
const routeNames = (document: Document): readonly string[] =>
  routesIn(document).map(({ name, path }) => name ?? path)

const patternOf = (name: string, report: Report): Pattern | undefined => {
  try {
    return parsePattern(name)
  } catch (error) {
    report(['models', name], 'MODEL_PATTERN', error instanceof Error ? error.message : 'unusable')
    return undefined
  }
}

/** A target without a cost would be used last. */
const checkCosts = (name: string, options: ModelOptions, report: Report): void => {
  if (options.balance !== 'cheapest') return
  const message = '`balance: cheapest` compares `cost`: write `{ to: …, cost: 0.4 }`'
  for (const [index, { cost }] of targetsOf(options).entries())
    if (cost === undefined)
      report(positionOf(['models', name], options, index), 'MODEL_COST', message)
}

/** `at`: the place of the entry with the name of the model, or of one of its rules. */
const checkTargets = (
  at: readonly (string | number)[],
  options: Pick<ModelOptions, 'to'>,
  pattern: Pattern | undefined,
  upstreams: ReadonlySet<string>,
  report: Report,
): void => {
  const name = String(at[1])
  for (const [index, target] of targetsOf(options).entries()) {
    const where = positionOf(at, options, index)
    if (!upstreams.has(target.upstream)) {
      const { choices, suggestion } = choicesFor(target.upstream, 'upstreams', [...upstreams])
      const message = `no upstream is named ${JSON.stringify(target.upstream)}${choices}`
      report(where, 'UNKNOWN_UPSTREAM', message, suggestion)
    }
    // An invalid pattern has been reported already.
    if (target.name === undefined || (isPattern(name) && !pattern)) continue
    const stars = target.name.split('*').length - 1
    if (stars > (pattern?.stars ?? 0))
      report(where, 'MODEL_CARRY', `"${name}" has no * for every * in "${target.name}"`)
    for (const [whole, placeholder = ''] of target.name.matchAll(/\{(\w+)\}/g))
      if (!pattern?.placeholders.has(placeholder))
        report(
          where,
          'MODEL_CARRY',
          `"${name}" has no placeholder ${whole}`,
          nearest(placeholder, pattern?.placeholders ?? []),
        )
  }
}
/** Names of the upstream and of the gateway must follow from each other. */
const checkDiscovery = (
  name: string,
  options: ModelOptions,
  pattern: Pattern | undefined,
  report: Report,
): void => {
  if (!options.discover) return
  const where = ['models', name, 'discover']
  const isOne = pattern?.stars === 1 && pattern.placeholders.size === 0
  if (!isOne || options.aliases)
    report(where, 'MODEL_DISCOVER', DISCOVER_KEY, isPattern(name) ? undefined : `${name}-*`)
  for (const [index, { name: target = '' }] of targetsOf(options).entries())
    if (!/^[^*{}]*\*[^*{}]*$/.test(target))
      report(
        positionOf(['models', name], options, index),
        'MODEL_DISCOVER',
        'with `discover` a target has one * for the name at the upstream, such as own/*',
      )
}
const DISCOVER_KEY =
  'a model with `discover` has a key with one *, no placeholder and no aliases, such as own-*'

const positionOf = (
  at: readonly (string | number)[],
  { to }: Pick<ModelOptions, 'to'>,
  index: number,
): (string | number)[] => {
  if (typeof to === 'string') return [...at, 'to']
  return [...at, 'to', index, ...(typeof to[index] === 'string' ? [] : ['to'])]
}

const checkRoutes = (
  name: string,
  { accepts = {}, defaults = {}, only = [] }: ModelOptions,
  routes: ReadonlySet<string>,
  schemas: Schemas,
  report: Report,
): void => {
  const checkRoute = (route: string, where: readonly (string | number)[]): void => {
    if (routes.has(route)) return
    const message = `there is no route named ${JSON.stringify(route)}`
    report(where, 'UNKNOWN_ROUTE', message, nearest(route, routes))
  }
  for (const [index, route] of only.entries()) checkRoute(route, ['models', name, 'only', index])
  for (const route of Object.keys(defaults))
    if (route !== '*') checkRoute(route, ['models', name, 'defaults', route])
  for (const [route, schema] of Object.entries(accepts)) {
    const where = ['models', name, 'accepts', route]
    if (route !== '*') checkRoute(route, where)
    if (typeof schema === 'string' || typeof schema === 'boolean') continue
    try {
      validatorOf(schema as Json, 'it', schemas)
    } catch (error) {
      report(where, 'MODEL_SCHEMA', error instanceof Error ? error.message : 'unusable schema')
    }
  }
}

/** Reports patterns that are never reached, because an earlier pattern of the same shape matches
 *  the same names. */
const checkShadows = (patterns: readonly Pattern[], report: Report): void => {
  const first = new Map<string, Pattern>()
  for (const pattern of patterns.toSorted(bySpecificity)) {
    // The shape of a hole with `.+` equals that of a star.
    const before = first.get(pattern.shape)
    if (before)
      report(
        ['models', pattern.text],
        'MODEL_SHADOWED',
        `"${before.text}" matches every name that matches "${pattern.text}"`,
      )
    else first.set(pattern.shape, pattern)
  }
}

/** Reports fallbacks that no model has the name of, and those that lead back to their model. */
const checkFallbacks = (
  section: Readonly<Record<string, ModelOptions>>,
  patterns: readonly Pattern[],
  report: Report,
): void => {
  const sorted = patterns.toSorted(bySpecificity)
  const keyOf = (name: string): string | undefined =>
    Object.hasOwn(section, name) ? name : sorted.find(pattern => pattern.match(name))?.text
  const nextKeys = (key: string): readonly string[] =>
    fallbacksOf(section[key] as ModelOptions).flatMap(name => keyOf(name) ?? [])
  for (const [name, options] of Object.entries(section))
    for (const [index, fallback] of fallbacksOf(options).entries()) {
      const list = ['models', name, 'fallback']
      const where = typeof options.fallback === 'string' ? list : [...list, index]
      const key = keyOf(fallback)
      if (key === undefined) {
        const { choices, suggestion } = choicesFor(fallback, 'models', Object.keys(section))
        const message = `there is no model named ${JSON.stringify(fallback)}${choices}`
        report(where, 'UNKNOWN_MODEL', message, suggestion)
      } else if (leadsTo(name, key, nextKeys)) {
        const message = `the fallback "${fallback}" leads back to "${name}"`
        report(where, 'MODEL_FALLBACK_CYCLE', message)
      }
    }
}
const leadsTo = (
  goal: string,
  start: string,
  nextKeys: (key: string) => readonly string[],
  visited = new Set<string>(),
): boolean => {
  if (start === goal) return true
  if (visited.has(start)) return false
  visited.add(start)
  return nextKeys(start).some(key => leadsTo(goal, key, nextKeys, visited))
}

/** Shares one schema compiler for the whole check: creating one takes 15 ms. */
type Schemas = Parameters<typeof validatorOf>[2]
const sharedSchemas = (memo: Schemas['memo']): Schemas => {
  const values = new Map<string, object>()
  return {
    share: (key, _, create) => {
      const value = values.get(key) ?? create(undefined)
      values.set(key, value)
      return value as ReturnType<typeof create>
    },
    config: { isTrial: true },
    memo,
  }
}

export { adviseOnRules } from './rule-problems.ts'
