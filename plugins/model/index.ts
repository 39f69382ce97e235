/** Which model is asked for: finds where it is served, who may use it and what it accepts. Owns the `models:` section. */
import { errors } from '../../engine/errors.ts'
import type { Exchange, Fault, Host, Json, Next, Plugin, Stage } from '../../engine/plugin.ts'
import type { Catalogue, Entry, Found } from '../catalogue/catalogue.ts'
import { catalogueOf } from '../catalogue/configured.ts'
import { endpointsOf, servedBy } from '../catalogue/endpoints.ts'
import { SECTION } from '../catalogue/section.ts'
import type { Validator } from '../schema/compile.ts'
import { ACCOUNT, type Account, MODEL } from '../slots.ts'
import { commands } from './command.ts'
import { type Listed, type ListingName, listings } from './listing.ts'
import { problemsIn } from './problems.ts'

const fault = errors({
  MODEL_MISSING: [400, "Missing required parameter: 'model'.", { param: 'model' }],
  MODEL_UNKNOWN: [
    404,
    "The model '%s' does not exist or you do not have access to it.",
    { param: 'model' },
  ],
  MODEL_FORBIDDEN: [403, "This API key may not use the model '%s'.", { param: 'model' }],
  MODEL_ONLY: [404, 'This model is only supported in %s and not in %s.', { param: 'model' }],
  MODEL_NOT_HERE: [404, "The model '%s' is not available on this endpoint.", { param: 'model' }],
})

export type Options =
  | 'body'
  | { readonly path: string }
  | { readonly query: string }
  | { readonly list: ListingName; readonly one?: string }

const parameter = (description: string) => ({
  description,
  type: 'string',
  minLength: 1,
  examples: ['model'],
})
const map = (description: string, required: string, properties: object) => ({
  description,
  type: 'object',
  required: [required],
  additionalProperties: false,
  properties,
})

export default {
  schema: {
    description: 'Where a request names its model, or that the route lists the models.',
    anyOf: [
      { type: 'string', enum: ['body'], description: 'Under `model` in the JSON body.' },
      map('In the path.', 'path', { path: parameter('The parameter of the path.') }),
      map('In the query.', 'query', { query: parameter('The parameter of the query.') }),
      map('The route lists the models.', 'list', {
        list: {
          description:
            'The dialect of the list. openai also answers clients that announce themselves as anthropic or google.',
          enum: Object.keys(listings),
          examples: ['openai'],
        },
        one: parameter('The parameter of the path that names one model: only it is shown.'),
      }),
    ],
    examples: ['body', { path: 'model' }, { query: 'model' }, { list: 'openai' }],
  },
  // It judges by the key that `auth` found, and reads the body that `form` read.
  after: ['auth', 'form'],
  sections: { models: SECTION },
  check: problemsIn,
  commands,
  setup(options, host) {
    const catalogue = catalogueOf(host)
    if (typeof options === 'object' && 'list' in options) return lister(options, catalogue, host)
    const stage = finder(readerOf(options), catalogue)
    return typeof options === 'object' && 'query' in options
      ? { ...stage, forward: renamer(options.query) }
      : stage
  },
} satisfies Plugin<Options>

// ---------------------------------------------------------------- finding one

type Reader = (exchange: Exchange) => Promise<unknown> | unknown
const readerOf = (options: Exclude<Options, { readonly list: ListingName }>): Reader => {
  if (options === 'body')
    return ({ request }) =>
      request.parsed === undefined ? request.json().then(named) : named(request.parsed)
  if ('path' in options) return ({ params }) => params[options.path]
  return ({ request }) => request.query.get(options.query)
}
const named = (body: Json): unknown => (body as { readonly model?: Json } | null)?.model

/** Without a promise of its own where the body was read before and the model has no rules: that is nearly every call. */
const finder = (read: Reader, catalogue: Catalogue): Stage => ({
  targets: true,
  handle(exchange, next) {
    const asked = read(exchange)
    if (asked instanceof Promise) return findLater(asked, catalogue, exchange, next)
    const rules = find(asked, catalogue, exchange)
    return rules ? judgeFirst(rules, exchange, next) : next()
  },
  explain: exchange => {
    const model = exchange.slots.get(MODEL)
    const targets = exchange.targets.map(({ upstream, name }) => `${upstream}/${name ?? ''}`)
    return model ? { asked: model.asked, entry: model.entry, targets } : null
  },
})

const findLater = async (
  asked: Promise<unknown>,
  catalogue: Catalogue,
  exchange: Exchange,
  next: Next,
): Promise<void> => {
  const rules = find(await asked, catalogue, exchange)
  if (rules) await judge(rules, exchange)
  await next()
}
const judgeFirst = async (rules: Validator, exchange: Exchange, next: Next): Promise<void> => {
  await judge(rules, exchange)
  await next()
}
/** Says where it is served. Returns what the model asks of the body, if it does. */
const find = (asked: unknown, catalogue: Catalogue, exchange: Exchange): Validator | undefined => {
  if (typeof asked !== 'string' || asked === '') throw fault('MODEL_MISSING')
  const { entry, targets } = permitted(asked, catalogue, exchange.slots.get(ACCOUNT))
  if (entry.only && !entry.only.has(exchange.route.name)) throw elsewhere(entry.only, exchange)
  const rules = entry.accepts.size > 0 ? rulesOf(entry, asked, exchange) : undefined
  exchange.slots.set(MODEL, { asked, entry: entry.name })
  exchange.targets = targets
  return rules
}

const elsewhere = (only: NonNullable<Entry['only']>, { route }: Exchange): Fault =>
  fault('MODEL_ONLY', [[...only.values()].join(', '), route.pattern.replace(/^\//, '')])

/** Where the query names it, the target's own name goes into the query: no format knows of it. */
const renamer =
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

const permitted = (asked: string, catalogue: Catalogue, account: Account | undefined): Found => {
  const found = catalogue.find(asked)
  if (!found) throw fault('MODEL_UNKNOWN', [short(asked)])
  if (!mayUse(account, asked, found.entry)) throw fault('MODEL_FORBIDDEN', [short(asked)])
  return found
}
/** A key's list names models, or keys of `models:`. */
const mayUse = (account: Account | undefined, asked: string, { name }: Entry): boolean => {
  const models = account?.key?.models
  return models === undefined || models.includes(asked) || models.includes(name)
}
/** A name of a megabyte is answered, not repeated. */
const short = (name: string): string => (name.length > 128 ? `${name.slice(0, 125)}…` : name)

const rulesOf = ({ accepts }: Entry, asked: string, { route }: Exchange): Validator | undefined => {
  const rule = accepts.get(route.name) ?? accepts.get('*')
  if (rule === false) throw fault('MODEL_NOT_HERE', [short(asked)])
  return rule
}
const judge = async (rules: Validator, { request }: Exchange): Promise<void> => {
  const complaint = rules.judge(await request.json())
  if (complaint) throw complaint
}

// ---------------------------------------------------------------- listing them

const lister = (
  { list, one }: Extract<Options, { readonly list: ListingName }>,
  catalogue: Catalogue,
  host: Host,
): Stage => {
  const served = servedBy(host)
  const listed = (id: string, entry: Entry): Listed => ({
    ...{ id, entry },
    endpoints: endpointsOf(entry, host.upstreams, served),
  })
  const all = catalogue.named.map(entry => listed(entry.name, entry))
  return {
    answers: true,
    async handle(exchange) {
      const { request, params, slots } = exchange
      const account = slots.get(ACCOUNT)
      const listing = listings[announced(list, request.headers)]
      if (one !== undefined) {
        const asked = params[one] ?? ''
        const { entry } = permitted(asked, catalogue, account)
        exchange.answer(200, listing.one(listed(asked, entry)))
        return
      }
      const models = all.filter(({ id, entry }) => mayUse(account, id, entry))
      exchange.answer(200, listing.list(models, request.query))
    },
  }
}

/** One path serves the lists of three dialects, and clients say which they are by a header of their own. */
const announced = (list: ListingName, headers: Exchange['request']['headers']): ListingName => {
  if (list !== 'openai') return list
  if (headers['anthropic-version'] !== undefined) return 'anthropic'
  return headers['x-goog-api-key'] === undefined ? list : 'google'
}
