/** Plugin `model`: finds the targets of the requested model, checks that the key may use the model,
 *  adds the model's defaults to the body and validates it by the model's schema. Owns the `models:`
 *  section. */
import { nearest } from '../../engine/config/nearest.ts'
import { anyOf, object, oneOf, type RawOf, required, text } from '../../engine/config/shape.ts'
import { errors } from '../../engine/errors.ts'
import type { Exchange, Fault, Host, Json, Next, Plugin, Stage } from '../../engine/plugin.ts'
import {
  type Catalogue,
  defaultsOn,
  type Entry,
  type ModelMatch,
  mayUse,
  ROUTER,
} from '../catalogue/catalogue.ts'
import {
  catalogueOf,
  diagnoseModels,
  discoverModels,
  modelsIn,
  resourceIn,
} from '../catalogue/configured.ts'
import { Endpoints, nativeMethodsOf } from '../catalogue/endpoints.ts'
import { priceReview } from '../catalogue/price-review.ts'
import { SECTION } from '../catalogue/section.ts'
import { ACCOUNT, type Account, MODEL, RULE } from '../slots.ts'
import { commands } from './command.ts'
import { HINTS } from './hints.ts'
import {
  type ListItem,
  type Listing,
  type ListingName,
  listingFor,
  listings,
  shapeFor,
} from './listing.ts'
import { type BodyRules, prepareBody } from './prepare-body.ts'
import { adviseOnRules, problemsIn } from './problems.ts'
import { explainRules, RuleRouter, setTargets } from './rule-router.ts'

const fault = errors({
  MODEL_MISSING: [400, "Missing required parameter: 'model'.", { param: 'model' }],
  MODEL_UNKNOWN: [
    404,
    "The model '%s' does not exist or you do not have access to it.%s",
    { param: 'model' },
  ],
  MODEL_FORBIDDEN: [403, "This API key may not use the model '%s'.", { param: 'model' }],
  MODEL_ONLY: [404, 'This model is only supported in %s and not in %s.', { param: 'model' }],
  MODEL_NOT_HERE: [404, "The model '%s' is not available on this endpoint.", { param: 'model' }],
})

const parameter = <const E extends string = 'model'>(description: string, example?: E) =>
  text(description, { minLength: 1, examples: [example ?? 'model'] })
const OPTIONS = anyOf(
  'Where requests name their model; or `list`: the route lists the models.',
  [
    oneOf('Under `model` in the JSON body.', ['body'], { type: 'string' }),
    object('In the path.', { path: required(parameter('The parameter of the path.')) }),
    object('In the query.', { query: required(parameter('The parameter of the query.')) }),
    object('The same model for every request, whose body names none.', {
      name: required(parameter('The model.', 'audio-tts')),
    }),
    object('Under `model` in the JSON body, which may omit it.', {
      default: required(parameter('The model of a body without one.', 'omni-moderation-latest')),
    }),
    object('In the JSON body, as models/NAME or NAME.', {
      resource: required(parameter('The member of the body.')),
      or: parameter('The member that names it where that one is absent.', 'agent'),
    }),
    object('The route lists the models.', {
      list: required(
        oneOf(
          'The dialect of the list. `openai` also serves clients whose headers identify them as anthropic or google.',
          Object.keys(listings) as ListingName[],
          { examples: ['openai'] },
        ),
      ),
      one: parameter(
        'The path parameter that names one model; the route then shows only that model.',
      ),
    }),
  ],
  {
    examples: [
      'body',
      { path: 'model' },
      { query: 'model' },
      { name: 'audio-tts' },
      { default: 'omni-moderation-latest' },
      { resource: 'model', or: 'agent' },
      { list: 'openai' },
    ],
  },
)
export type Options = RawOf<typeof OPTIONS>

const review = priceReview(modelsIn)

export default {
  hints: HINTS,
  schema: OPTIONS.schema,
  // Needs the key that `auth` finds and the body that `form` reads.
  after: ['auth', 'form'],
  sections: { models: SECTION.schema },
  check: problemsIn,
  commands,
  metrics: { rules_total: 'Requests whose targets a rule of their model chose.' },
  ...review,
  doctor: diagnoseModels,
  lint(document, advise) {
    review.lint(document, advise)
    adviseOnRules(modelsIn(document), advise)
  },
  setup(options, host) {
    const catalogue = catalogueOf(host)
    if (catalogue.discovers) discoverModels(host)
    if (typeof options === 'object' && 'list' in options) return listStage(options, catalogue, host)
    const router = new RuleRouter(host.metrics)
    const stage = findStage(modelReader(options), { catalogue, router })
    return typeof options === 'object' && 'query' in options
      ? { ...stage, forward: renameInQuery(options.query) }
      : stage
  },
} satisfies Plugin<Options>

// ---------------------------------------------------------------- finding a model

type Reader = (exchange: Exchange) => Promise<unknown> | unknown
const modelReader = (options: Exclude<Options, { readonly list: ListingName }>): Reader => {
  if (options === 'body') return ({ request }) => withBody(request, modelInBody)
  if ('default' in options)
    return ({ request }) => withBody(request, body => modelInBody(body) ?? options.default)
  if ('resource' in options)
    return ({ request }) => withBody(request, body => resourceIn(body, options))
  if ('name' in options) return () => options.name
  if ('path' in options) return ({ params }) => params[options.path]
  return ({ request }) => request.query.get(options.query)
}
const withBody = (request: Exchange['request'], find: (body: Json) => unknown): unknown =>
  request.outlined === undefined ? request.outline().then(find) : find(request.outlined)
const modelInBody = (body: Json): unknown => (body as { readonly model?: Json } | null)?.model

/** Creates no promise if the body is parsed already and the model has no rules for it, as in nearly
 *  every call. */
const findStage = (read: Reader, finder: Finder): Stage => {
  const { catalogue } = finder
  return {
    targets: catalogue.upstreams,
    handle(exchange, next) {
      // A line of a batch begins behind `auth`, which applies them to every other call.
      const account = exchange.kind === 'turn' ? exchange.slots.get(ACCOUNT) : undefined
      if (account) catalogue.places.applyAccount(exchange, account)
      const name = read(exchange)
      if (name instanceof Promise) return findAfterRead(name, finder, exchange, next)
      const preparation = resolveModel(name, finder, exchange)
      if (preparation) return preparation.then(() => nextByRule(exchange, next))
      return nextByRule(exchange, next)
    },
    explain: exchange => {
      const model = exchange.slots.get(MODEL)
      if (!model) return null
      const targets = exchange.targets.map(({ upstream, name }) => `${upstream}/${name ?? ''}`)
      const { rules = [] } = catalogue.find(model.asked) ?? {}
      const explained = rules.length > 0 && { rules: explainRules(rules, exchange) }
      return { asked: model.asked, entry: model.entry, targets, ...explained }
    },
  }
}
interface Finder {
  readonly catalogue: Catalogue
  readonly router: RuleRouter
}
/** Names the rule in the response. */
const nextByRule = async (exchange: Exchange, next: Next): Promise<void> => {
  await next()
  const rule = exchange.slots.get(RULE)
  if (rule !== undefined) exchange.reply.headers['x-tollgate-rule'] = rule
}

const findAfterRead = async (
  pendingName: Promise<unknown>,
  finder: Finder,
  exchange: Exchange,
  next: Next,
): Promise<void> => {
  await resolveModel(await pendingName, finder, exchange)
  await nextByRule(exchange, next)
}
/** Sets the model and the targets of the exchange. A promise where a rule or the body is read. */
const resolveModel = (
  name: unknown,
  { catalogue, router }: Finder,
  exchange: Exchange,
): Promise<void> | undefined => {
  if (typeof name !== 'string' || name === '') throw fault('MODEL_MISSING')
  const match = findPermitted(name, catalogue, exchange.slots.get(ACCOUNT))
  const { entry } = match
  if (entry.only && !entry.only.has(exchange.route.name)) throw onlyFault(entry.only, exchange)
  const hasRules = entry.accepts.size > 0 || entry.defaults.size > 0
  const rules = hasRules ? rulesOf(entry, name, exchange) : undefined
  exchange.slots.set(MODEL, { asked: name, entry: entry.name })
  exchange.slots.set(ROUTER, router)
  const setModelTargets = (): Promise<void> | undefined => {
    if (match.rules.length > 0) return router.apply(match, rules, exchange)
    setTargets(match, match.targets, exchange)
    return rules && prepareBody(rules, exchange)
  }
  return entry.options.balance === 'prefix'
    ? parseBody(exchange).then(setModelTargets)
    : setModelTargets()
}
/** Another stage reports a body that is not JSON. */
const parseBody = async ({ request, kind }: Exchange): Promise<void> => {
  if (kind !== 'websocket' && request.method === 'POST') await request.json().catch(() => {})
}

const onlyFault = (only: NonNullable<Entry['only']>, { route }: Exchange): Fault =>
  fault('MODEL_ONLY', [[...only.values()].join(', '), route.pattern.replace(/^\//, '')])

/** Writes the target's name of the model into the query, if the query names it: formats do not know
 *  that parameter. */
const renameInQuery =
  (parameter: string): NonNullable<Stage['forward']> =>
  ({ request, target }, next) => {
    if (target.name !== undefined) {
      const [path = '', search] = request.path.split('?', 2)
      const query = new URLSearchParams(search)
      query.set(parameter, target.name)
      request.path = `${path}?${query}`
    }
    return next()
  }

const findPermitted = (
  name: string,
  catalogue: Catalogue,
  account: Account | undefined,
): ModelMatch => {
  const match = catalogue.find(name)
  if (!match) throw fault('MODEL_UNKNOWN', [shorten(name), hintFor(name, catalogue, account)])
  if (!mayUse(account, name, match.entry)) throw fault('MODEL_FORBIDDEN', [shorten(name)])
  return match
}
/** The nearest name that the key may use; a large catalogue is not searched for each wrong name. */
const hintFor = (name: string, catalogue: Catalogue, account: Account | undefined): string => {
  const names = [...catalogue.names]
  if (names.length > HINT_NAMES) return ''
  const permitted = names.filter(each => {
    const entry = catalogue.find(each)?.entry
    return entry !== undefined && mayUse(account, each, entry)
  })
  const suggestion = nearest(name, permitted)
  return suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`
}
const HINT_NAMES = 1_000
/** Shortens a name for error messages: a client may send a megabyte. */
const shorten = (name: string): string => (name.length > 128 ? `${name.slice(0, 125)}…` : name)

const rulesOf = (entry: Entry, name: string, { route }: Exchange): BodyRules | undefined => {
  const { accepts } = entry
  const validator = accepts.get(route.name) ?? accepts.get('*')
  if (validator === false) throw fault('MODEL_NOT_HERE', [shorten(name)])
  const defaults = defaultsOn(route.name, entry)
  return validator || defaults ? { validator, defaults } : undefined
}

// ---------------------------------------------------------------- listing models

const listStage = (
  { list, one }: Extract<Options, { readonly list: ListingName }>,
  catalogue: Catalogue,
  host: Host,
): Stage => {
  const endpoints = new Endpoints(host)
  const listItem = (id: string, entry: Entry): ListItem => ({
    id,
    entry,
    endpoints: endpoints.of(entry),
    methods: () => nativeMethodsOf(entry, host),
  })
  // Made at the first request: few processes are asked for it.
  let all: readonly ListItem[] | undefined
  let revision = 0
  const allItems = () => {
    if (all && revision === catalogue.revision) return all
    revision = catalogue.revision
    all = [
      ...catalogue.exactEntries.map(entry => listItem(entry.name, entry)),
      ...catalogue.discovered.map(({ name, entry }) => listItem(name, entry)),
    ]
    return all
  }
  const { parameters } = listings[list]
  return {
    answers: true,
    describe: () => ({
      summary: one === undefined ? 'Lists the models that the key may use' : 'Shows a model',
      responses: { 'application/json': shapeFor(list, one === undefined ? 'list' : 'one') },
      parameters: one === undefined ? parameters : [],
    }),
    async handle(exchange) {
      const { request, params, slots } = exchange
      const account = slots.get(ACCOUNT)
      const listing: Listing = listings[listingFor(list, request.headers)]
      const isShown = (item: ListItem) => listing.shows?.(item) !== false
      if (one !== undefined) {
        const name = params[one] ?? ''
        const { entry } = findPermitted(name, catalogue, account)
        const discovered = entry.options.discover && allItems().find(({ id }) => id === name)
        const item = discovered ?? listItem(name, entry)
        if (!isShown(item)) throw fault('MODEL_NOT_HERE', [shorten(name)])
        exchange.answer(200, listing.one(item))
        return
      }
      const models = allItems().filter(
        each => mayUse(account, each.id, each.entry) && isShown(each),
      )
      exchange.answer(200, listing.list(models, request.query))
    },
  }
}
