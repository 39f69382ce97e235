/** Catalogue: looks models up by exact name, then by pattern, the most specific first. Built once
 *  per configuration. */
import { isCode } from '../../engine/kit.ts'
import type { Exchange, HostBase, Json, Slot, Target } from '../../engine/plugin.ts'
import { fileValidator, type Validator, validateRequest, validatorOf } from '../schema/compile.ts'
import type { Account } from '../slots.ts'
import { PlaceRules } from '../zones/rule.ts'
import { applyDefaults, type Defaults } from './defaults.ts'
import { type DiscoveredModels, discoveredModels } from './discovery.ts'
import { insertCaptures, isPattern, type Pattern, parsePattern } from './pattern.ts'
import { insertCaptured, type RoutingRule, routingRulesOf } from './rules.ts'
import type { ModelOptions, Section } from './section.ts'
import { addRules, insertNames, sendingRulesOf, targetsOf, upstreamOf } from './targets.ts'

export interface Entry {
  /** Its key in `models:`. */
  readonly name: string
  readonly options: ModelOptions
  /** Route name, or `*` -> validator of request bodies; false: not served on that route. */
  readonly accepts: ReadonlyMap<string, Validator | false>
  /** Route name, or `*` -> members that bodies get if they lack them. */
  readonly defaults: ReadonlyMap<string, Defaults>
  /** Its own: without those of its fallback. */
  readonly targets: readonly Target[]
  /** The only routes that serve the model: name -> path without its slash. */
  readonly only: ReadonlyMap<string, string> | undefined
  /** In order; the first rule that matches applies. */
  readonly rules: readonly RoutingRule[]
}
/** A model that an upstream lists: the entry of its pattern, with the context of the model. */
export interface Discovered {
  readonly name: string
  readonly entry: Entry
}
export interface ModelMatch {
  readonly entry: Entry
  /** Where a request may be sent: the targets of the model, then those of its fallback. */
  readonly targets: readonly Target[]
  /** The rules of the model. Text that its pattern matched is filled into names of targets. */
  readonly rules: readonly RoutingRule[]
}

/** Applies the rules of a model that a request did not ask for. Set by `model`. */
export const ROUTER: Slot<{ change(match: ModelMatch, exchange: Exchange): Promise<void> }> = {
  name: 'router',
}

type CatalogueHost = Pick<HostBase, 'file' | 'share' | 'section' | 'config' | 'memo' | 'upstreams'>
interface RouteEntry {
  readonly name?: string
  readonly path: string
}

export class Catalogue {
  /** Names of the upstreams of all models. */
  readonly upstreams: readonly string[]
  /** The rules of accounts and keys about where calls are processed. */
  readonly places: PlaceRules
  readonly #section: Section
  readonly #host: CatalogueHost
  readonly #paths: ReadonlyMap<string, string>
  /** Models with exact names, made when they are first looked up: a process serves few of ten
   *  thousand. One object per name, so that plugins can key caches by its targets. */
  readonly #exact = new Map<string, ModelMatch>()
  /** Aliases of exact names -> their keys in `models:`. */
  readonly #aliases = new Map<string, string>()
  /** Undefined if no model has `discover`. */
  readonly #discovered: DiscoveredModels | undefined
  #listed: { readonly revision: number; readonly models: readonly Discovered[] } | undefined
  readonly #fallbacks = new Map<Entry, readonly Target[]>()
  readonly #patterns: readonly { readonly pattern: Pattern; readonly entry: Entry }[]

  constructor(section: Section, host: CatalogueHost) {
    this.#section = section
    this.#host = host
    this.places = new PlaceRules(host.upstreams)
    this.#paths = pathsOf(host)
    const upstreams = new Set<string>()
    const patterns: string[] = []
    for (const [name, options] of Object.entries(section)) {
      const { to, accepts } = options
      if (typeof to === 'string') upstreams.add(upstreamOf(to))
      else for (const each of to) upstreams.add(upstreamOf(each))
      for (const { to: others } of options.rules ?? []) {
        for (const each of [others ?? []].flat()) upstreams.add(upstreamOf(each))
      }
      if (isPattern(name)) patterns.push(name)
      else for (const alias of options.aliases ?? []) this.#aliases.set(alias, name)
      // A schema that cannot be used is a problem of the configuration.
      if (accepts && host.config.isTrial && !isPattern(name)) validatorsOf(name, options, host)
    }
    this.upstreams = [...upstreams].sort()
    this.#patterns = patterns
      .flatMap(name => {
        const entry = this.#createEntry(name)
        const names = [name, ...(entry.options.aliases ?? [])]
        return names.map(each => ({ pattern: parsePattern(each), entry }))
      })
      .sort((one, other) => bySpecificity(one.pattern, other.pattern))
    if (this.#patterns.some(({ entry }) => entry.options.discover))
      this.#discovered = discoveredModels(host)
    for (const { entry } of this.#patterns) this.#addFallbacks(entry)
  }
  find(name: string): ModelMatch | undefined {
    const exact = this.#exactMatch(name)
    if (exact) return exact
    const match = this.#findByPattern(name)
    const fallbacks = match && this.#fallbacks.get(match.entry)
    return fallbacks ? { ...match, targets: [...match.targets, ...fallbacks] } : match
  }
  /** Sends a request to another model than it asked for, by the rules of that model; returns its
   *  key in `models:`. Undefined: the account may not use it, the route or the model does not
   *  accept the request, or what the request names is kept at a certain key. Rejects where zones or
   *  rules permit no target, see `isUnreachable`. */
  async changeModel(
    name: string,
    account: Account,
    exchange: Exchange,
  ): Promise<string | undefined> {
    const match = await this.#findFor(name, account, exchange)
    if (match) await exchange.slots.need(ROUTER).change(match, exchange)
    return match?.entry.name
  }
  /** Each target has a name, since the request has another. */
  async #findFor(
    name: string,
    account: Account,
    { route, request, targets }: Exchange,
  ): Promise<ModelMatch | undefined> {
    if (targets.some(({ pin }) => pin !== undefined)) return undefined
    const match = this.find(name)
    if (!match || !mayUse(account, name, match.entry)) return undefined
    const { accepts, only } = match.entry
    const validator = accepts.get(route.name) ?? accepts.get('*')
    if (validator === false || (only && !only.has(route.name))) return undefined
    if (validator && (await validateRequest(validator, request))) return undefined
    const named = (list: readonly Target[]) =>
      list.map(each => ({ ...each, name: each.name ?? name }))
    const rules = match.rules.map(rule =>
      rule.targets ? { ...rule, targets: named(rule.targets) } : rule,
    )
    return { ...match, targets: named(match.targets), rules }
  }
  /** Whether a fault says that the zones or the rule of a request, or the format of its route,
   *  permit no target of a model. */
  isUnreachable(error: unknown): boolean {
    return isCode(error, 'ZONE_REFUSED', 'RULE_TARGETS', 'MODEL_NOT_HERE')
  }
  /** The body of a request of this route and model with the model's defaults. */
  expandBody(route: string, name: string, body: Json): Json {
    const entry = this.find(name)?.entry
    const defaults = entry && defaultsOn(route, entry)
    return (defaults && applyDefaults(body, defaults)) ?? body
  }
  /** Models with exact names, in the order of the configuration. */
  get exactEntries(): readonly Entry[] {
    const names = Object.keys(this.#section).filter(name => !isPattern(name))
    return names.flatMap(name => this.find(name)?.entry ?? [])
  }
  /** Models with exact names, then patterns in the order of matching. */
  get all(): readonly Entry[] {
    return [...this.exactEntries, ...new Set(this.#patterns.map(({ entry }) => entry))]
  }
  /** Exact names, their aliases, and discovered names. */
  get names(): Iterable<string> {
    const discovered = this.discovered.map(({ name }) => name)
    return [...this.exactEntries.map(({ name }) => name), ...this.#aliases.keys(), ...discovered]
  }
  get discovers(): boolean {
    return this.#discovered !== undefined
  }
  /** Changes with the list of discovered models. */
  get revision(): number {
    return this.#discovered?.revision ?? 0
  }
  /** Models that upstreams list, in the order of their patterns. */
  get discovered(): readonly Discovered[] {
    if (this.#listed?.revision === this.revision) return this.#listed.models
    this.#listed = { revision: this.revision, models: this.#findDiscovered() }
    return this.#listed.models
  }
  #findDiscovered(): readonly Discovered[] {
    const entries = new Map<string, Entry>()
    for (const { pattern, entry } of this.#patterns) {
      if (!entry.options.discover || pattern.text !== entry.name) continue
      for (const { upstream, name: target = '*' } of entry.targets) {
        const outer = parsePattern(target)
        for (const { name: own, context } of this.#discovered?.of(upstream)?.values() ?? []) {
          const captures = outer.match(own)
          const name = captures && insertCaptures(entry.name, captures)
          if (name === undefined || entries.has(name) || this.find(name)?.entry !== entry) continue
          const options = { ...entry.options, ...(context !== undefined && { context }) }
          entries.set(name, { ...entry, options })
        }
      }
    }
    return [...entries].map(([name, entry]) => ({ name, entry }))
  }
  #exactMatch(name: string): ModelMatch | undefined {
    const key = this.#aliases.get(name) ?? name
    return this.#exact.get(key) ?? this.#createMatch(key)
  }
  /** Undefined: no model has this exact name. */
  #createMatch(name: string): ModelMatch | undefined {
    if (!Object.hasOwn(this.#section, name) || isPattern(name)) return undefined
    const entry = this.#createEntry(name)
    // Stored before its fallbacks are looked up: one may lead back to this model.
    this.#exact.set(name, matchOf(entry))
    const fallbacks = this.#addFallbacks(entry)
    if (fallbacks) {
      const targets = Object.freeze([...entry.targets, ...fallbacks])
      this.#exact.set(name, { ...matchOf(entry), targets })
    }
    return this.#exact.get(name)
  }
  #createEntry(name: string): Entry {
    const options = this.#section[name] as ModelOptions
    return {
      name,
      options,
      accepts: validatorsOf(name, options, this.#host),
      defaults: new Map(Object.entries(options.defaults ?? {})),
      targets: addRules(targetsOf(options), sendingRulesOf(options)),
      rules: routingRulesOf(options),
      only:
        options.only &&
        new Map(options.only.map(route => [route, this.#paths.get(route) ?? route])),
    }
  }
  #addFallbacks(entry: Entry): readonly Target[] | undefined {
    if (entry.options.fallback === undefined) return undefined
    const targets = this.#fallbackTargets(entry, new Set([entry.name]))
    this.#fallbacks.set(entry, targets)
    return targets
  }
  /** The targets of the models that `fallback` names, and of their fallbacks. `visited`: keys of
   *  models. */
  #fallbackTargets({ options }: Entry, visited: Set<string>): readonly Target[] {
    return fallbacksOf(options).flatMap(name => {
      const entry = this.#exactMatch(name)?.entry
      const match = entry ? matchOf(entry) : this.#findByPattern(name)
      if (!match || visited.has(match.entry.name)) return []
      visited.add(match.entry.name)
      const own = match.targets.map(target => ({ ...target, name: target.name ?? name }))
      const rules = sendingRulesOf(match.entry.options) ?? {}
      return [...addRules(own, rules), ...this.#fallbackTargets(match.entry, visited)]
    })
  }
  #mayServe({ upstream, name = '' }: Target): boolean {
    return this.#discovered?.mayHave(upstream, name) ?? true
  }
  #findByPattern(name: string): ModelMatch | undefined {
    if (name.length > NAME_LIMIT) return undefined
    for (const { pattern, entry } of this.#patterns) {
      const captures = pattern.match(name)
      if (!captures) continue
      const targets = insertNames(entry.targets, captures)
      const served = entry.options.discover ? targets.filter(each => this.#mayServe(each)) : targets
      if (served.length > 0 || !entry.options.discover)
        return { entry, targets: served, rules: insertCaptured(entry.rules, captures) }
    }
    return undefined
  }
}
const NAME_LIMIT = 256
const matchOf = (entry: Entry): ModelMatch => ({
  entry,
  targets: entry.targets,
  rules: entry.rules,
})

export const defaultsOn = (route: string, { defaults }: Entry): Defaults | undefined =>
  defaults.get(route) ?? defaults.get('*')

/** Route name -> path without its slash: `v1/responses`. */
const pathsOf = (host: CatalogueHost): ReadonlyMap<string, string> => {
  const routes = host.section<readonly RouteEntry[]>('routes')
  const list = Array.isArray(routes) ? (routes as readonly RouteEntry[]) : []
  return new Map(list.map(({ name, path }) => [name ?? path, path.replace(/^\S+ \//, '')]))
}

/** Sorts by more literal characters, then by fewer stars, then by the order of the file. */
export const bySpecificity = (one: Pattern, other: Pattern): number =>
  other.literal - one.literal || one.stars - other.stars

export const fallbacksOf = ({ fallback = [] }: ModelOptions): readonly string[] =>
  typeof fallback === 'string' ? [fallback] : fallback

const validatorsOf = (
  name: string,
  { accepts = {} }: ModelOptions,
  host: CatalogueHost,
): ReadonlyMap<string, Validator | false> =>
  new Map(
    Object.entries(accepts).map(([route, schema]) => [
      route,
      routeValidator(schema, `models.${name}.accepts.${route}`, host),
    ]),
  )
const routeValidator = (schema: Json, where: string, host: CatalogueHost): Validator | false => {
  if (schema === false) return false
  return typeof schema === 'string' ? fileValidator(schema, host) : validatorOf(schema, where, host)
}

/** The list of a key contains model names or keys of `models:`. */
export const mayUse = (
  account: Account | undefined,
  requestedName: string,
  { name }: Entry,
): boolean => {
  const models = account?.key?.models
  return models === undefined || models.includes(requestedName) || models.includes(name)
}
