/** The keys that `adapt` adds to upstreams: `paths:`, `query:` and `body:`. */
import {
  anyOf,
  json,
  list,
  map,
  object,
  ofTypes,
  readerOf,
  reading,
  required,
  schemasOf,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { Json } from '../../engine/plugin.ts'
import { type EndpointName, endpointNames } from './endpoints.ts'

const template = <const E extends string>(description: string, example: E) =>
  text(description, { pattern: '^/[^\\s?#]*$', examples: [example] })
const member = <const E extends string>(example: E) =>
  text('The name of a member.', { minLength: 1, examples: [example] })
const PATHS = { plain: '/models/{model}:rawPredict', stream: '/models/{model}:streamRawPredict' }
/** One path for all requests, or one for streams and one for the others. */
const PATH = anyOf(
  'A path, without the base path of the address.',
  [
    template('One path for all requests.', '/deployments/{model}/chat/completions'),
    object(
      'One path for streams, and one for all other requests.',
      {
        plain: required(template('The path of requests for a whole answer.', PATHS.plain)),
        stream: required(template('The path of requests for a stream.', PATHS.stream)),
      },
      { examples: [PATHS] },
    ),
  ],
  { examples: ['/deployments/{model}/chat/completions'] },
)
export type PathTemplate = ValueOf<typeof PATH>

const EDITS = {
  rename: map(
    'Members of the body with another name at this upstream: the name, and the new one.',
    member('max_tokens'),
    { examples: [{ max_completion_tokens: 'max_tokens' }] },
  ),
  drop: list(
    'Members that this upstream refuses: they are removed from the body.',
    member('store'),
    { uniqueItems: true, examples: [['store', 'stream_options']] },
  ),
  set: reading(
    json('Members that are added to the body, or replaced.', {
      type: 'object',
      examples: [{ safe_prompt: true }],
    }),
    members => members as Readonly<Record<string, Json>>,
  ),
}
const editsOf = (name: string) =>
  object(`Edits of ${name} bodies, in addition to the others.`, EDITS, {
    examples: [{ drop: ['store'] }],
  })
const editsByEndpoint = Object.fromEntries(
  endpointNames.map(name => [name, editsOf(name)]),
) as Readonly<Record<EndpointName, ReturnType<typeof editsOf>>>

const UPSTREAM = {
  paths: map(
    'Paths at this upstream: by format, or by the path that clients use. {model} is the model at this upstream, {method} the last part of the usual path, such as generateContent.',
    PATH,
    {
      propertyNames: { pattern: `^(${endpointNames.join('|')}|/[^\\s?#]*)$` },
      examples: [{ 'openai-chat': '/deployments/{model}/chat/completions' }],
    },
  ),
  query: map(
    'Query parameters of every request to this upstream.',
    ofTypes('The value.', ['string', 'number'], { examples: ['2024-10-21'] }),
    { examples: [{ 'api-version': '2024-10-21' }] },
  ),
  body: object(
    'Edits of JSON bodies: after all other changes, also of members that the gateway adds. Under the name of a format they apply to its requests only.',
    { ...EDITS, ...editsByEndpoint },
    { examples: [{ rename: { max_completion_tokens: 'max_tokens' }, drop: ['store'] }] },
  ),
}
export const upstreamSchemas = schemasOf(UPSTREAM)
export const readOptions = readerOf(UPSTREAM)
export type AdaptOptions = ReturnType<typeof readOptions>
