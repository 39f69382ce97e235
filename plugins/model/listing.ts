/** Model lists in the shape of each client dialect. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { EMBEDDINGS } from '../formats/embedding.ts'
import { lookUp } from '../formats/fields.ts'

/** A model in a list. */
export interface ListItem {
  readonly id: string
  readonly entry: Entry
  readonly endpoints: readonly string[]
}
interface Listing {
  one(model: ListItem): Json
  /** The page of models that `query` selects. */
  list(models: readonly ListItem[], query: URLSearchParams): Json
}

/** Creation date of every model, s since 1970: a constant that other gateways report too. */
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
    const candidates = pageBetween(models, query.get('after_id'), query.get('before_id'))
    const limit = limitOf(query.get('limit'), 20)
    const selection = query.has('before_id') ? candidates.slice(-limit) : candidates.slice(0, limit)
    return {
      data: selection.map(anthropic.one),
      first_id: selection[0]?.id ?? null,
      last_id: selection.at(-1)?.id ?? null,
      has_more: candidates.length > limit,
    }
  },
}

/** Endpoint -> Google's generation methods. */
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
    supportedGenerationMethods: endpoints.flatMap(endpoint => lookUp(METHODS, endpoint) ?? []),
  }),
  list(models, query) {
    const candidates = pageBetween(models, query.get('pageToken'), null)
    const limit = limitOf(query.get('pageSize'), 50)
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
  const start = models.findIndex(({ id }) => id === after) + 1
  const end = models.findIndex(({ id }) => id === before)
  return models.slice(start, end < 0 ? undefined : end)
}
const limitOf = (text: string | null, fallback: number): number => {
  const limit = Number(text)
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, 1_000) : fallback
}
