/** Plugin `cache`: answers equal requests of one owner from earlier answers, in every format, plain
 *  and streamed, and similar ones where the model says so. Without a model that has `cache:` it
 *  costs nothing. */
import { object } from '../../engine/config/shape.ts'
import type { Host, HostBase, Plugin, Stage } from '../../engine/plugin.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { formatsOf } from '../formats/index.ts'
import { Cache } from './cache.ts'
import { commands, offerToOperators } from './operator-part.ts'
import { adviseOnCache, checkSection } from './problems.ts'
import { type Exact, type RawSection, SECTION } from './section.ts'
import { EMBEDDINGS_METRIC, SimilarAnswers, TOKENS_METRIC } from './similar.ts'
import { CacheStage } from './stage.ts'
import { migrations } from './tables.ts'

/** ms between two looks for purges, and between two removals from the store. */
const FOLLOW_INTERVAL = 1_000
const SWEEP_INTERVAL = 10_000

export default {
  schema: object(
    'Nothing to set: models say it by `cache: exact` or `cache: semantic`.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  // Answers pass guards again; budgets are held before.
  after: ['auth', 'model', 'meter', 'translate', 'guard', 'journal'],
  before: ['sandbox', 'adapt'],
  sections: { cache: SECTION.schema },
  migrations,
  commands,
  check: checkSection,
  lint: adviseOnCache,
  metrics: {
    cache_total:
      'Calls of models with `cache:` by model and result: `hit`, `similar` for the answer to a similar text, `miss`, or `bypass` for requests that are never answered from the cache.',
    [EMBEDDINGS_METRIC]:
      'Texts for which `cache: semantic` needed an embedding, by result: `ok`, `failed` (also if it took too long), or `not_permitted` where zones permit no upstream of the model.',
    [TOKENS_METRIC]: 'Tokens of embeddings for `cache: semantic`, which you pay.',
  },
  setup(_, host: Host): Stage {
    offerToOperators(host)
    const models = modelsOf(host)
    const names = Object.keys(models).filter(name => models[name]?.cache !== undefined)
    if (names.length === 0 || !routeFormat(host)?.codec) return {}
    const { exact, semantic } = SECTION.read(host.section<RawSection>('cache'))
    const similar = semantic && new SimilarAnswers(host, semantic)
    const { clients } = formatsOf(host)
    return new CacheStage({
      cache: sharedCache(host, exact),
      exact,
      metrics: host.metrics,
      similar: new Map(
        names.flatMap(name =>
          similar && models[name]?.cache === 'semantic' ? [[name, similar] as const] : [],
        ),
      ),
      versions: new Map(names.map(name => [name, JSON.stringify(models[name])])),
      codec: name => clients.get(name)?.codec,
    })
  },
} satisfies Plugin<object>

/** One in each process, for one text of the section. */
const sharedCache = (host: HostBase, exact: Exact): Cache => {
  const cache = host.share('cache', JSON.stringify(exact), () => new Cache(host, exact))
  host.job('cache purges', FOLLOW_INTERVAL, () => cache.followPurges(), { each: true })
  host.job('cache sweep', SWEEP_INTERVAL, signal => cache.sweep(signal))
  return cache
}
