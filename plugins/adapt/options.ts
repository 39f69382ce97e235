/** The keys that `adapt` adds to upstreams: `paths:`, `query:` and `body:`. */
import type { Json } from '../../engine/plugin.ts'
import type { BodyEdits } from '../conversion/body-edits.ts'
import { type EndpointName, endpointNames } from './endpoints.ts'

export interface AdaptOptions {
  readonly paths?: Readonly<Record<string, PathTemplate>>
  readonly query?: Readonly<Record<string, string | number>>
  readonly body?: BodyOption
}
/** One path for all requests, or one for streams and one for the others. */
export type PathTemplate = string | { readonly plain: string; readonly stream: string }
type BodyOption = BodyEdits & Partial<Record<EndpointName, BodyEdits>>

const template = (description: string, example: string) => ({
  description,
  type: 'string',
  pattern: '^/[^\\s?#]*$',
  examples: [example],
})
const NAME = { type: 'string', minLength: 1, description: 'The name of a member.' }
const EDITS = {
  rename: {
    description:
      'Members of the body with another name at this upstream: the name, and the new one.',
    type: 'object',
    additionalProperties: { ...NAME, examples: ['max_tokens'] },
    examples: [{ max_completion_tokens: 'max_tokens' }],
  },
  drop: {
    description: 'Members that this upstream refuses: they are removed from the body.',
    type: 'array',
    items: { ...NAME, examples: ['store'] },
    uniqueItems: true,
    examples: [['store', 'stream_options']],
  },
  set: {
    description: 'Members that are added to the body, or replaced.',
    type: 'object',
    examples: [{ safe_prompt: true }],
  },
}

export const upstreamSchema = {
  paths: {
    description:
      'Paths at this upstream: by format, or by the path that clients use. {model} is the model at this upstream, {method} the last part of the usual path, such as generateContent.',
    type: 'object',
    propertyNames: { pattern: `^(${endpointNames.join('|')}|/[^\\s?#]*)$` },
    additionalProperties: {
      description: 'A path, without the base path of the address.',
      anyOf: [
        template('One path for all requests.', '/deployments/{model}/chat/completions'),
        {
          description: 'One path for streams, and one for all other requests.',
          type: 'object',
          required: ['plain', 'stream'],
          additionalProperties: false,
          properties: {
            plain: template(
              'The path of requests for a whole answer.',
              '/models/{model}:rawPredict',
            ),
            stream: template(
              'The path of requests for a stream.',
              '/models/{model}:streamRawPredict',
            ),
          },
          examples: [
            { plain: '/models/{model}:rawPredict', stream: '/models/{model}:streamRawPredict' },
          ],
        },
      ],
      examples: ['/deployments/{model}/chat/completions'],
    },
    examples: [{ 'openai-chat': '/deployments/{model}/chat/completions' }],
  },
  query: {
    description: 'Query parameters of every request to this upstream.',
    type: 'object',
    additionalProperties: {
      description: 'The value.',
      type: ['string', 'number'],
      examples: ['2024-10-21'],
    },
    examples: [{ 'api-version': '2024-10-21' }],
  },
  body: {
    description:
      'Edits of JSON bodies: after all other changes, also of members that the gateway adds. Under the name of a format they apply to its requests only.',
    type: 'object',
    additionalProperties: false,
    properties: {
      ...EDITS,
      ...Object.fromEntries(
        endpointNames.map(name => [
          name,
          {
            description: `Edits of ${name} bodies, in addition to the others.`,
            type: 'object',
            additionalProperties: false,
            properties: EDITS,
            examples: [{ drop: ['store'] }],
          },
        ]),
      ),
    },
    examples: [{ rename: { max_completion_tokens: 'max_tokens' }, drop: ['store'] }],
  },
} as const

export const readOptions = (options: { readonly [key: string]: Json }): AdaptOptions =>
  options as AdaptOptions
