/** The models as lists: one shape for each dialect that clients read them in. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { EMBEDDINGS } from '../formats/embedding.ts'
import { entryOf } from '../formats/fields.ts'

/** One model as a list shows it. */
export interface Listed {
  readonly id: string
  readonly entry: Entry
  readonly endpoints: readonly string[]
}
interface Listing {
  one(model: Listed): Json
  /** A page of them; `query` says which. */
  list(models: readonly Listed[], query: URLSearchParams): Json
}

/** When nobody knows when a model was made: what lists of this kind have always said. */
const CREATED = 1_626_777_600
const CREATED_AT = new Date(CREATED * 1_000).toISOString()

const openai: Listing = {
  one: ({ id, entry, endpoints }) => ({
    id,
    object: 'model',
    created: CREATED,
    owned_by: entry.options.owner ?? entry.targets[0]?.upstream ?? '',
    supported_endpoint_types: endpoints,
  }),
  list: models => ({ object: 'list', success: true, data: models.map(openai.one) }),
}

const anthropic: Listing = {
  one: ({ id, entry }) => ({
    type: 'model',
    id,
    display_name: entry.options.title ?? id,
    created_at: CREATED_AT,
  }),
  list(models, query) {
    const page = between(models, query.get('after_id'), query.get('before_id'))
    const wanted = bounded(query.get('limit'), 20)
    const shown = query.has('before_id') ? page.slice(-wanted) : page.slice(0, wanted)
    return {
      data: shown.map(anthropic.one),
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
      has_more: page.length > wanted,
    }
  },
}

/** Endpoint -> what Google calls it. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  gemini: ['generateContent'],
  [EMBEDDINGS]: ['embedContent', 'batchEmbedContents'],
}
const google: Listing = {
  one: ({ id, entry: { options }, endpoints }) => ({
    name: `models/${id}`,
    version: '001',
    displayName: options.title ?? id,
    ...(options.context !== undefined && { inputTokenLimit: options.context }),
    ...(options.output !== undefined && { outputTokenLimit: options.output }),
    supportedGenerationMethods: endpoints.flatMap(endpoint => entryOf(METHODS, endpoint) ?? []),
  }),
  list(models, query) {
    const page = between(models, query.get('pageToken'), null)
    const wanted = bounded(query.get('pageSize'), 50)
    const shown = page.slice(0, wanted)
    return {
      models: shown.map(google.one),
      ...(page.length > wanted && { nextPageToken: shown.at(-1)?.id ?? '' }),
    }
  },
}

export const listings = { openai, anthropic, google } as const
export type ListingName = keyof typeof listings

/** Behind one name and before another; a name that is not there bounds nothing. */
const between = (
  models: readonly Listed[],
  after: string | null,
  before: string | null,
): readonly Listed[] => {
  const start = models.findIndex(({ id }) => id === after) + 1
  const end = models.findIndex(({ id }) => id === before)
  return models.slice(start, end < 0 ? undefined : end)
}
const bounded = (given: string | null, usual: number): number => {
  const wanted = Number(given)
  return Number.isInteger(wanted) && wanted >= 1 ? Math.min(wanted, 1_000) : usual
}
