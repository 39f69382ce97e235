/** Reads the configuration of models for plugins: the section `models`, and the option `model` of
 *  routes. */
import { isFields } from '../../engine/kit.ts'
import type { Document, HostBase, Json, Route, RouteMatch } from '../../engine/plugin.ts'
import { Catalogue } from './catalogue.ts'
import { diagnoseDiscovery, startDiscovery } from './discovery.ts'
import { isPattern, parsePattern } from './pattern.ts'
import type { Section } from './section.ts'

type CatalogueHost = Pick<HostBase, 'section' | 'file' | 'share' | 'config' | 'memo' | 'upstreams'>

export const modelsOf = ({ section }: Pick<HostBase, 'section'>): Section =>
  section<Section>('models')
/** The section of a document that is being checked. */
export const modelsIn = ({ models }: Document): Section => (models ?? {}) as unknown as Section
/** Its entries as they are written. Those that are not maps are left out: their schema reports
 *  them. */
export const modelEntriesIn = ({ models }: Document) =>
  Object.entries(isFields(models) ? models : {}).flatMap(([name, options]) =>
    isFields(options) ? [[name, options] as const] : [],
  )

/** The catalogue of the configuration, shared by all routes: it may hold ten thousand models. */
export const catalogueOf = (host: CatalogueHost): Catalogue =>
  host.share('catalogue', host.config.hash, () => readCatalogue(host))
/** Asks upstreams with `discover` for their models from now on. */
export const discoverModels = (host: HostBase): void => startDiscovery(host, modelsOf(host))
/** Whether upstreams with `discover` list models, for `tollgate doctor`. */
export const diagnoseModels = (host: HostBase) => diagnoseDiscovery(host, modelsOf(host))
/** A catalogue that is not shared, for commands. */
export const readCatalogue = (host: CatalogueHost): Catalogue => new Catalogue(modelsOf(host), host)

/** A model name for examples: the one in the documentation, else the first without a pattern. */
export const exampleModel = (models: Section): string => {
  if ('gp-4.1' in models) return 'gp-4.1'
  return Object.keys(models).find(name => !/[*{]/.test(name)) ?? 'gp-4.1'
}

/** Where requests of a route name their model. */
type ModelOption =
  | 'body'
  | { readonly path: string }
  | { readonly query: string }
  | { readonly name: string }
  | { readonly default: string }
  | { readonly resource: string; readonly or?: string }
/** Undefined if its requests name no model. */
const modelOption = (route: Pick<Route, 'option'>): ModelOption | undefined => {
  const option = route.option('model')
  const lists = Object(option).list !== undefined
  return option === undefined || lists ? undefined : (option as ModelOption)
}
/** Whether a stage of the route finds the model: `model`, or the object that a request is about. */
export const hasModelStage = (route: Pick<Route, 'has' | 'option'>): boolean =>
  route.has('model') || route.option('resources') === 'update-cache'
/** The model in a name such as models/NAME, or in a plain one. `or`: the member that names it where
 *  `resource` is absent. */
export const resourceIn = (
  body: Json,
  { resource, or }: { readonly resource: string; readonly or?: string | undefined },
): unknown => {
  const fields = body as Readonly<Record<string, Json>> | null
  const name = fields?.[resource] ?? (or === undefined ? undefined : fields?.[or])
  return typeof name === 'string' ? name.replace(/^models\//, '') : name
}
export const namesModel = (route: Pick<Route, 'option'>): boolean =>
  modelOption(route) !== undefined
/** Whether the stage `tags` runs on a route. */
export const readsTags = (route: Pick<Route, 'has'>): boolean => route.has('tags')
/** The model name in a request of the route. */
export const requestedModel = (
  route: Pick<Route, 'option'>,
  body: Json,
  { params, search }: Pick<RouteMatch<Route>, 'params' | 'search'>,
): string | undefined => {
  const by = modelOption(route)
  if (by === undefined) return undefined
  if (by === 'body' || 'default' in by) {
    const name = (body as { readonly model?: Json } | null)?.model
    if (typeof name === 'string') return name
    return by === 'body' ? undefined : by.default
  }
  if ('resource' in by) {
    const name = resourceIn(body, by)
    return typeof name === 'string' ? name : undefined
  }
  if ('name' in by) return by.name
  if ('path' in by) return params[by.path]
  return new URLSearchParams(search).get(by.query) ?? undefined
}

/** Keys and aliases. */
export const namesIn = (section: Section): readonly string[] =>
  Object.entries(section).flatMap(([name, { aliases = [] }]) => [name, ...aliases])

/** The first of these names that no entry of `models:` offers. Without that section every name
 *  passes. */
export const unknownModelIn = (
  names: readonly string[],
  host: Pick<HostBase, 'section'>,
): string | undefined => {
  if (names.length === 0) return undefined
  const entries = namesIn(modelsOf(host))
  if (entries.length === 0) return undefined
  const patterns = entries.filter(isPattern).map(parsePattern)
  return names.find(
    name => !entries.includes(name) && !patterns.some(pattern => pattern.match(name)),
  )
}
