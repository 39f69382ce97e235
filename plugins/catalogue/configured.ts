/** What the configuration says of models, for the plugins that go by it: the section `models`, and what a
 *  route says under `model`. */
import type { Document, Json, Lent, Matched, Route } from '../../engine/plugin.ts'
import { Catalogue } from './catalogue.ts'
import type { Section } from './section.ts'

type Ground = Pick<Lent, 'section' | 'file' | 'share'>

export const modelsOf = ({ section }: Pick<Lent, 'section'>): Section => section<Section>('models')
/** The same of a document that is being checked. */
export const modelsIn = ({ models }: Document): Section => (models ?? {}) as unknown as Section

/** Ten thousand models are read once for each configuration, not once for each route. */
export const catalogueOf = (host: Ground & Pick<Lent, 'config'>): Catalogue =>
  host.share('catalogue', host.config.hash, () => readCatalogue(host))
/** One of its own, for a command. */
export const readCatalogue = (host: Ground): Catalogue => new Catalogue(modelsOf(host), host)

/** A name to show in an example: the documentation's own, else the first that is no pattern. */
export const exampleModel = (models: Section): string => {
  if ('gp-4.1' in models) return 'gp-4.1'
  return Object.keys(models).find(name => !/[*{]/.test(name)) ?? 'gp-4.1'
}

/** How a request of a route names its model. */
type NamedBy = 'body' | { readonly path: string } | { readonly query: string }
/** Undefined: its requests name none. */
const namedBy = (route: Pick<Route, 'option'>): NamedBy | undefined => {
  const option = route.option('model')
  const lists = Object(option).list !== undefined
  return option === undefined || lists ? undefined : (option as NamedBy)
}
/** Whether a stage of the route finds a model. */
export const findsModel = (route: Pick<Route, 'has'>): boolean => route.has('model')
export const callsModel = (route: Pick<Route, 'option'>): boolean => namedBy(route) !== undefined
/** The name that a request of this route asks for, as it is written there. */
export const askedModel = (
  route: Pick<Route, 'option'>,
  body: Json,
  { params, search }: Pick<Matched<Route>, 'params' | 'search'>,
): string | undefined => {
  const by = namedBy(route)
  if (by === undefined) return undefined
  if (by === 'body') {
    const named = (body as { readonly model?: Json } | null)?.model
    return typeof named === 'string' ? named : undefined
  }
  if ('path' in by) return params[by.path]
  return new URLSearchParams(search).get(by.query) ?? undefined
}
