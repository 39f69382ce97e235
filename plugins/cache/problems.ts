/** Problems of the cache that no schema can see. */
import { choicesFor } from '../../engine/config/nearest.ts'
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Advise, Document, Json, Report, UpstreamView } from '../../engine/plugin.ts'
import { modelEntriesIn, modelsIn, namesIn, unknownModelIn } from '../catalogue/configured.ts'
import { unmetByModel } from '../catalogue/model-places.ts'
import { targetsOf } from '../catalogue/targets.ts'
import { targetFormatOf } from '../embeddings/formats.ts'

const AT = ['cache', 'semantic', 'model'] as const

const cachedIn = (document: Document) =>
  modelEntriesIn(document).filter(([, { cache }]) => cache !== undefined)

export const checkSection = (document: Document, report: Report): void => {
  const { cache, pipeline } = document
  const cached = cachedIn(document).map(([name, options]) => ({ name, kind: options.cache }))
  const problem = (at: readonly string[], message: string): void =>
    report(at, 'CACHE_OPTION', message)
  if (isFields(cache) && cached.length === 0)
    problem(['cache'], 'no model uses the cache: write `cache: exact` in an entry of `models:`')
  if (Array.isArray(pipeline) && !pipeline.includes('cache'))
    for (const { name } of cached)
      problem(
        ['models', name, 'cache'],
        'nothing is cached: `pipeline:` has no `cache`; add it behind `guard`',
      )
  const semantic = cached.filter(({ kind }) => kind === 'semantic')
  const model = embeddingModelIn(cache)
  if (model === undefined) {
    for (const { name } of semantic)
      problem(
        ['models', name, 'cache'],
        'similar texts need embeddings: name their model by `cache: { semantic: { model: … } }`',
      )
    return
  }
  if (cached.length > 0 && semantic.length === 0)
    problem(
      ['cache', 'semantic'],
      'no model uses it: write `cache: semantic` in an entry of `models:`',
    )
  checkModel(model, document, report)
}
const embeddingModelIn = (cache: Json | undefined): string | undefined => {
  const { semantic } = isFields(cache) ? cache : {}
  return isFields(semantic) && typeof semantic.model === 'string' ? semantic.model : undefined
}

const checkModel = (model: string, document: Document, report: Report): void => {
  const models = modelsIn(document)
  const names = namesIn(models)
  if (unknownModelIn([model], { section: () => models as never }) !== undefined) {
    const { choices, suggestion } = choicesFor(model, 'models', names)
    return report(AT, 'CACHE_OPTION', `no model is named "${model}"${choices}`, suggestion)
  }
  if (!makesEmbeddings(model, document))
    report(
      AT,
      'CACHE_OPTION',
      `"${model}" makes no embeddings: give it \`traits: { formats: [openai-embeddings] }\` if its upstream does`,
    )
  const routes = translatingRoutes(document)
  const unmet = routes.map(([, demand]) => demand && unmetByModel(demand, model, document))
  if (routes.length > 0 && unmet.every(each => each !== undefined))
    report(
      AT,
      'CACHE_OPTION',
      `every route demands a target ${unmet[0]}, and no upstream of "${model}" is one: no text could be sent to it`,
    )
}
/** True for models that only a pattern or an alias names: their targets are known later. */
const makesEmbeddings = (model: string, document: Document): boolean => {
  const options = modelsIn(document)[model]
  if (!options) return true
  const { upstreams } = document
  const views: Record<string, UpstreamView> = {}
  for (const [name, each] of Object.entries(isFields(upstreams) ? upstreams : {}))
    if (isFields(each)) views[name] = { options: each }
  return targetsOf(options).some(each => targetFormatOf(each, { upstreams: views }) !== undefined)
}
/** Routes whose requests the cache may read, each with its demand. */
const translatingRoutes = (document: Document) =>
  routesIn(document).flatMap(([index, { translate, zone }]) =>
    translate === undefined ? [] : [[index, isFields(zone) ? zone : undefined] as const],
  )

export const adviseOnCache = (document: Document, advise: Advise): void => {
  adviseOnModels(document, advise)
  adviseOnZones(document, advise)
}
/** Advice on models whose answers from the cache cost customers nothing. */
const adviseOnModels = (document: Document, advise: Advise): void => {
  for (const [name, { price }] of cachedIn(document))
    if (isFields(price) && price.cached_call === undefined)
      advise(
        ['models', name, 'cache'],
        'info',
        'CACHE_FREE',
        `answers of "${name}" from the cache are free; add \`cached_call\` to its price to charge them`,
      )
}

/** Advice on routes whose texts may not be sent to the model of embeddings. */
export const adviseOnZones = (document: Document, advise: Advise): void => {
  const model = embeddingModelIn(document.cache)
  if (model === undefined) return
  for (const [index, demand] of translatingRoutes(document)) {
    const unmet = demand && unmetByModel(demand, model, document)
    if (unmet !== undefined)
      advise(
        ['routes', index, 'zone'],
        'warning',
        'CACHE_ZONE',
        `the route demands a target ${unmet}, and no upstream of "${model}" is one: its requests get answers to equal requests only`,
      )
  }
}
