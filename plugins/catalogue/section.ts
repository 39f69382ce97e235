/** The `models:` section: the type of an entry, and its JSON Schema. */
import type { Balance, Json } from '../../engine/plugin.ts'
import { FREE, MAX_CALLS, PRICE, TIER_RULE, UNPRICED } from '../billing/schema.ts'
import { PROMPT_CACHE } from '../conversion/prompt-cache-option.ts'
import { DEFAULTS, type RouteDefaults } from './defaults.ts'
import { TRAITS } from './traits.ts'

/** An entry that the schema accepts. */
export interface ModelOptions {
  readonly to: string | readonly (string | TargetOptions)[]
  readonly balance?: Balance
  readonly retry_on?: readonly number[]
  readonly fallback?: string | readonly string[]
  readonly affinity?: { readonly by?: readonly AffinitySource[] }
  readonly aliases?: readonly string[]
  readonly accepts?: { readonly [route: string]: Json }
  readonly defaults?: RouteDefaults
  readonly only?: readonly string[]
  readonly price?: Json
  readonly free?: boolean
  readonly max_calls?: { readonly [meter: string]: number }
  readonly traits?: { readonly [key: string]: Json }
  readonly thinking?: { readonly budget: number | string }
  readonly prompt_cache?: Json
  readonly owner?: string
  readonly title?: string
  readonly context?: number
  readonly output?: number
  readonly media?: { readonly [kind: string]: number }
}
const AFFINITY_SOURCES = [
  'prompt_cache_key',
  'conversation',
  'previous_response_id',
  'session',
  'metadata.user_id',
  'key',
] as const
/** Where a request names its conversation. */
export type AffinitySource = (typeof AFFINITY_SOURCES)[number]
/** All but the key, whose conversations are many. */
export const DEFAULT_AFFINITY: readonly AffinitySource[] = AFFINITY_SOURCES.slice(0, -1)
export interface TargetOptions {
  readonly to: string
  readonly weight?: number
  readonly traits?: { readonly [key: string]: Json }
}
export type Section = Readonly<Record<string, ModelOptions>>

/** `upstream/name`, or the upstream alone, which then gets the name that the client sent. */
const TARGET = '^[A-Za-z0-9][A-Za-z0-9._-]*(/\\S+)?$'
const NAME = '^\\S{1,256}$'
const to = {
  description:
    'An upstream and its name of the model; `*` and `{id}` take the values that matched in the key.',
  type: 'string',
  pattern: TARGET,
  examples: ['gp/gpt-4.1'],
}
const target = {
  description: 'A target with its weight and traits.',
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to,
    weight: {
      description: 'Its share of the requests, relative to the other weights.',
      type: 'number',
      minimum: 0,
      examples: [3],
    },
    traits: TRAITS.schema,
  },
  examples: [{ to: 'gp/gpt-4.1', weight: 3 }],
}
const tokens = (description: string, example: number) => ({
  description,
  type: 'integer',
  minimum: 1,
  examples: [example],
})

const entry = {
  description: 'One model, or all models whose names match a pattern.',
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to: {
      ...to,
      description:
        'Its targets: an upstream and its name there, or a list of them, in order of preference.',
      type: ['string', 'array'],
      items: { anyOf: [to, target] },
      minItems: 1,
      examples: ['gp/gpt-4.1', ['gp/gpt-4.1', 'spare/gpt-4.1']],
    },
    balance: {
      description:
        'Load balancing: how one of several targets is picked. Without it: the `balance` of the route.',
      enum: ['first', 'round-robin', 'weighted', 'least-busy'],
      examples: ['round-robin'],
    },
    retry_on: {
      description:
        'Further statuses of its targets after which another attempt is made, also for POST, although the upstream may have processed the request. Never for the calls of a task.',
      type: 'array',
      uniqueItems: true,
      items: {
        description: 'A status of the upstream.',
        type: 'integer',
        minimum: 404,
        maximum: 599,
        examples: [500],
      },
      examples: [[500, 502, 504]],
    },
    fallback: {
      description:
        'Another model, or several in order, whose targets are tried once no own target is left. The customer pays the price of this model.',
      type: ['string', 'array'],
      minLength: 1,
      items: { description: 'A model.', type: 'string', minLength: 1, examples: ['gp-4.1-mini'] },
      minItems: 1,
      uniqueItems: true,
      examples: ['gp-4.1-mini', ['gp-4.1-mini', 'cl-haiku']],
    },
    affinity: {
      description:
        'All calls of a conversation go to one target, address and key while these can be used, so that the caches of the provider serve them. With `balance: first` it decides between addresses and keys only.',
      type: 'object',
      additionalProperties: false,
      properties: {
        by: {
          description:
            'Where a request names its conversation; the first one that it has counts. session: headers of agents such as session_id; previous_response_id: stored responses that continue each other; key: the API key.',
          type: 'array',
          minItems: 1,
          uniqueItems: true,
          items: { enum: AFFINITY_SOURCES, description: 'A source.', examples: ['session'] },
          examples: [['prompt_cache_key', 'session', 'key']],
        },
      },
      examples: [{}, { by: ['session', 'key'] }],
    },
    aliases: {
      description:
        'Further names of the model, such as the one of its provider, which agents know: the same targets, price and rights. Model lists show the model once: under its key, and to clients of Anthropic under its first alias, since agents hide names that they do not know. The aliases of a pattern are patterns with the same stars and placeholders.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: {
        description: 'A name, or a pattern with * or {id:expression}.',
        type: 'string',
        pattern: NAME,
        examples: ['gpt-4.1'],
      },
      examples: [['gpt-4.1', 'gpt-4.1-2025-04-14']],
    },
    accepts: {
      description:
        'JSON Schemas for request bodies of this model: route name, or * for every other route, to a schema, inline or a file. false: not served on that route.',
      type: 'object',
      additionalProperties: {
        description: 'A JSON Schema, or a file that contains one.',
        anyOf: [
          {
            type: 'string',
            format: 'file',
            description: 'A path relative to routes.yaml.',
            examples: ['schemas/o3.json'],
          },
          {
            type: 'object',
            description: 'An inline schema.',
            examples: [{ required: ['max_tokens'] }],
          },
          { type: 'boolean', description: 'false: not served on this route.', examples: [false] },
        ],
        examples: [false],
      },
      examples: [{ chat: false, '*': { required: ['max_tokens'] } }],
    },
    defaults: DEFAULTS,
    only: {
      description:
        'Names of the only routes that serve it. Other routes refuse it and name these routes.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', description: 'The name of a route.', examples: ['responses'] },
      examples: [['responses']],
    },
    price: PRICE,
    free: FREE,
    max_calls: MAX_CALLS,
    unpriced: UNPRICED,
    tiers: TIER_RULE,
    traits: TRAITS.schema,
    prompt_cache: PROMPT_CACHE.schema,
    thinking: {
      description: 'Thinking by default: requests that do not set thinking get this budget.',
      type: 'object',
      required: ['budget'],
      additionalProperties: false,
      properties: {
        budget: {
          description: 'Tokens, or a percentage of the output limit.',
          anyOf: [
            { type: 'integer', minimum: 1024, description: 'Tokens.', examples: [4096] },
            {
              type: 'string',
              pattern: '^[1-9][0-9]?%$',
              description: 'A percentage.',
              examples: ['80%'],
            },
          ],
          examples: ['80%'],
        },
      },
      examples: [{ budget: '80%' }],
    },
    owner: { description: 'The owner that model lists show.', type: 'string', examples: ['gp'] },
    title: { description: 'Its display name.', type: 'string', examples: ['GP 4.1'] },
    context: tokens('Context window: input and output together, in tokens.', 1_047_576),
    output: tokens('Output limit, in tokens.', 32_768),
    media: {
      description:
        'The maximum tokens of one medium that a request refers to by URL or id, for holds. Default: the context.',
      type: 'object',
      minProperties: 1,
      additionalProperties: false,
      properties: {
        image: tokens('Of an image.', 4_784),
        video: tokens('Of a video.', 300_000),
        audio: tokens('Of a recording.', 100_000),
        document: tokens('Of a document.', 300_000),
      },
      examples: [{ image: 4_784, document: 300_000 }],
    },
  },
  examples: [{ to: 'gp/gpt-4.1', price: { input: '2.00 USD / 1M', output: '8.00 USD / 1M' } }],
}

export const SECTION = {
  description:
    'The models that customers can request: a name, or a pattern with * or {id:expression}, to its targets.',
  type: 'object',
  propertyNames: { pattern: NAME },
  additionalProperties: entry,
  examples: [{ 'gp-4.1': { to: 'gp/gpt-4.1' } }],
}
