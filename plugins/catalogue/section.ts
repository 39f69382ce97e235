/** The `models:` section: what an entry may say, and the schema that editors explain it with. */
import type { Json } from '../../engine/plugin.ts'
import { FREE, MAX_CALLS, PRICE } from '../billing/schema.ts'
import { TRAITS } from './traits.ts'

/** An entry as the schema lets it through. */
export interface ModelOptions {
  readonly to: string | readonly (string | TargetOptions)[]
  readonly accepts?: { readonly [route: string]: Json }
  readonly only?: readonly string[]
  readonly price?: Json
  readonly free?: boolean
  readonly max_calls?: { readonly [meter: string]: number }
  readonly traits?: { readonly [key: string]: Json }
  readonly thinking?: { readonly budget: number | string }
  readonly owner?: string
  readonly title?: string
  readonly context?: number
  readonly output?: number
}
export interface TargetOptions {
  readonly to: string
  readonly weight?: number
  readonly traits?: { readonly [key: string]: Json }
}
export type Section = Readonly<Record<string, ModelOptions>>

/** `upstream/name`, or the upstream alone, which then is asked by the name the client wrote. */
const TARGET = '^[A-Za-z0-9][A-Za-z0-9._-]*(/\\S+)?$'
const to = {
  description:
    'An upstream and the name it knows the model by; a * or {id} of the key is carried over.',
  type: 'string',
  pattern: TARGET,
  examples: ['gp/gpt-4.1'],
}
const target = {
  description: 'A target and its share.',
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to,
    weight: { description: 'Its share.', type: 'number', minimum: 0, examples: [3] },
    traits: TRAITS,
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
  description: 'One model, or every model whose name fits a pattern.',
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to: {
      ...to,
      description:
        'Where it is served: an upstream and its own name there, or several, best first.',
      type: ['string', 'array'],
      items: { anyOf: [to, target] },
      minItems: 1,
      examples: ['gp/gpt-4.1', ['gp/gpt-4.1', 'spare/gpt-4.1']],
    },
    accepts: {
      description:
        'Rules of its own for request bodies: route name, or * for every other route, to a JSON Schema, inline or a file. false: not served on that route.',
      type: 'object',
      additionalProperties: {
        description: 'A JSON Schema, or the file it stands in.',
        anyOf: [
          {
            type: 'string',
            format: 'file',
            description: 'A file relative to routes.yaml.',
            examples: ['schemas/o3.json'],
          },
          { type: 'object', description: 'Inline.', examples: [{ required: ['max_tokens'] }] },
          { type: 'boolean', description: 'false: not served there.', examples: [false] },
        ],
        examples: [false],
      },
      examples: [{ chat: false, '*': { required: ['max_tokens'] } }],
    },
    only: {
      description:
        'Names of the routes that serve it, where no other does: there it is refused by the names of these.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', description: 'The name of a route.', examples: ['responses'] },
      examples: [['responses']],
    },
    price: PRICE,
    free: FREE,
    max_calls: MAX_CALLS,
    traits: TRAITS,
    thinking: {
      description:
        'A model that thinks by its name: where a request says nothing of it, it thinks with this budget.',
      type: 'object',
      required: ['budget'],
      additionalProperties: false,
      properties: {
        budget: {
          description: 'Tokens, or a share of what may be written.',
          anyOf: [
            { type: 'integer', minimum: 1024, description: 'Tokens.', examples: [4096] },
            {
              type: 'string',
              pattern: '^[1-9][0-9]?%$',
              description: 'A share.',
              examples: ['80%'],
            },
          ],
          examples: ['80%'],
        },
      },
      examples: [{ budget: '80%' }],
    },
    owner: { description: 'Who lists of models say owns it.', type: 'string', examples: ['gp'] },
    title: { description: 'Its name for people.', type: 'string', examples: ['GP 4.1'] },
    context: tokens('The most it reads and writes together.', 1_047_576),
    output: tokens('The most it writes.', 32_768),
  },
  examples: [{ to: 'gp/gpt-4.1', price: { input: '2.00 USD / 1M', output: '8.00 USD / 1M' } }],
}

export const SECTION = {
  description:
    'What customers may ask for: a name, or a pattern with * or {id:expression}, to where it is served.',
  type: 'object',
  propertyNames: { pattern: '^\\S{1,256}$' },
  additionalProperties: entry,
  examples: [{ 'gp-4.1': { to: 'gp/gpt-4.1' } }],
}
