/** Model lists in the shape of each client dialect. A page that a client cannot have is a fault. */
import type { Json, Request, RouteDescription } from '../../engine/plugin.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { clientDialect } from '../dialects/client-dialect.ts'
import { integerIn } from '../dialects/openai-query.ts'
import {
  between,
  boolean,
  constant,
  integer,
  list as listOf,
  nullable,
  object,
  query,
  type Shape,
  text,
  time,
} from '../shapes.ts'

/** Models of a page. */
const MOST = 1_000

/** A model in a list. */
export interface ListItem {
  readonly id: string
  readonly entry: Entry
  readonly endpoints: readonly string[]
  /** Google's names of the methods that serve it. */
  methods(): readonly string[]
}
export interface Listing {
  /** Whether clients of this dialect can use the model. */
  shows?(model: ListItem): boolean
  one(model: ListItem): Json
  /** The page of models that `query` selects. */
  list(models: readonly ListItem[], query: URLSearchParams): Json
  /** JSON Schemas of both. */
  readonly schemas: { readonly one: Shape; readonly list: Shape }
  /** The parameters of `query`. */
  readonly parameters: NonNullable<RouteDescription['parameters']>
}

const OPENAI_MODEL = object(
  {
    id: text,
    object: constant('model'),
    created: integer,
    owned_by: text,
    supported_endpoint_types: listOf(text),
  },
  { max_model_len: integer },
)
const ANTHROPIC_MODEL = object({
  type: constant('model'),
  id: text,
  display_name: text,
  created_at: time,
})
const GOOGLE_MODEL = object(
  { name: text, version: text, displayName: text, supportedGenerationMethods: listOf(text) },
  { inputTokenLimit: integer, outputTokenLimit: integer },
)

/** Creation date of every model, s since 1970: a constant that other gateways report too. */
const CREATED = 1_626_777_600
const CREATED_AT = new Date(CREATED * 1_000).toISOString()

const openai: Listing = {
  schemas: {
    one: OPENAI_MODEL,
    list: object({ object: constant('list'), success: boolean, data: listOf(OPENAI_MODEL) }),
  },
  parameters: [],
  one: ({ id, entry, endpoints }) => ({
    id,
    object: 'model',
    created: CREATED,
    owned_by: entry.options.owner ?? entry.targets[0]?.upstream ?? '',
    supported_endpoint_types: endpoints,
    // As vLLM names it: agents read it there.
    ...(entry.options.discover &&
      entry.options.context && { max_model_len: entry.options.context }),
  }),
  list: models => ({ object: 'list', success: true, data: models.map(openai.one) }),
}

const anthropic: Listing = {
  schemas: {
    one: ANTHROPIC_MODEL,
    list: object({
      data: listOf(ANTHROPIC_MODEL),
      first_id: nullable(text),
      last_id: nullable(text),
      has_more: boolean,
    }),
  },
  parameters: [
    query('limit', 'The number of models, from 1 to 1,000; 20 by default', between(1, MOST)),
    query('after_id', 'The models after this one'),
    query('before_id', 'The models before this one'),
  ],
  one: ({ id, entry }) => ({
    type: 'model',
    id,
    display_name: entry.options.title ?? id,
    created_at: CREATED_AT,
  }),
  list(models, query) {
    const named = models.map(withAlias)
    const candidates = pageBetween(named, query.get('after_id'), query.get('before_id'))
    const limit = integerIn('limit', query.get('limit') ?? '20', 1, MOST)
    const selection = query.has('before_id') ? candidates.slice(-limit) : candidates.slice(0, limit)
    return {
      data: selection.map(anthropic.one),
      first_id: selection[0]?.id ?? null,
      last_id: selection.at(-1)?.id ?? null,
      has_more: candidates.length > limit,
    }
  },
}

/** Claude Code shows only names with `claude` or `anthropic` in it. */
const withAlias = (model: ListItem): ListItem => {
  const [alias] = model.entry.options.aliases ?? []
  return alias === undefined ? model : { ...model, id: alias }
}

const google: Listing = {
  schemas: {
    one: GOOGLE_MODEL,
    list: object({ models: listOf(GOOGLE_MODEL) }, { nextPageToken: text }),
  },
  parameters: [
    query('pageSize', 'The number of models, at most 1,000; 50 by default', integer),
    query('pageToken', '`nextPageToken` of the page before'),
  ],
  shows: model => model.methods().length > 0,
  one: ({ id, entry: { options }, ...model }) => ({
    name: `models/${id}`,
    version: '001',
    displayName: options.title ?? id,
    ...(options.context !== undefined && { inputTokenLimit: options.context }),
    ...(options.output !== undefined && { outputTokenLimit: options.output }),
    supportedGenerationMethods: model.methods(),
  }),
  list(models, query) {
    const candidates = pageBetween(models, query.get('pageToken'), null)
    // As at Google, 0 means the default size, and a size above the maximum means the maximum.
    const size = integerIn('pageSize', query.get('pageSize') ?? '0', 0, Number.MAX_SAFE_INTEGER)
    const limit = Math.min(size || 50, MOST)
    const selection = candidates.slice(0, limit)
    return {
      models: selection.map(google.one),
      ...(candidates.length > limit && { nextPageToken: selection.at(-1)?.id ?? '' }),
    }
  },
}

export const listings = { openai, anthropic, google } as const
export type ListingName = keyof typeof listings

/** The models after one id and before another; unknown ids are ignored. */
const pageBetween = (
  models: readonly ListItem[],
  after: string | null,
  before: string | null,
): readonly ListItem[] => {
  const find = (name: string | null): number =>
    models.findIndex(({ id, entry }) => id === name || entry.name === name)
  const start = find(after) + 1
  const end = find(before)
  return models.slice(start, end < 0 ? undefined : end)
}

/** The dialect of a list: one path serves three dialects, and clients are recognised by their
 *  headers. */
export const listingFor = (list: ListingName, headers: Request['headers']): ListingName => {
  const dialect = list === 'openai' ? clientDialect({ headers }) : undefined
  return dialect !== undefined && dialect in listings ? (dialect as ListingName) : list
}
/** The schemas of a list, or of one model of it, by all dialects that its path serves. */
export const shapeFor = (list: ListingName, what: 'one' | 'list'): Shape => {
  if (list !== 'openai') return listings[list].schemas[what]
  return { anyOf: Object.values(listings).map(({ schemas }) => schemas[what]) }
}
