/** Entries of `routes:`; plugins add keys. */
import type { Balance } from '../../plugin.ts'
import {
  anyOf,
  integer,
  list,
  number,
  object,
  objectOfDefaults,
  oneOf,
  oneOrMore,
  orElse,
  reading,
  required,
  text,
} from '../shape.ts'
import { bytes, time } from './amounts.ts'
import { timeouts } from './timeouts.ts'

const METHOD = '(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|WS)'
const BALANCE: readonly Balance[] = ['first', 'round-robin', 'weighted', 'least-busy', 'fastest']
const NAME = text('A name under upstreams.', { examples: ['main'] })
const DRAIN = { drain: '30s', bytes: '1MiB' }

export const ROUTE = object('One route. Options of a plugin are set under its name.', {
  path: required(
    text('METHOD /path, with {name} for one segment; several methods as GET|HEAD.', {
      pattern: `^${METHOD}([|]${METHOD})* /\\S*$`,
      examples: ['GET /v1/items/{id}'],
    }),
  ),
  name: text('A short name for logs and metrics; default: the path.', { examples: ['items'] }),
  upstream: orElse(
    oneOrMore(
      'Where requests are sent: a name under upstreams, or several, best first.',
      NAME,
      {
        minItems: 1,
        examples: ['main', ['main', 'spare'], [{ to: 'main', weight: 3 }, 'spare']],
      },
      anyOf(undefined, [
        reading(NAME, to => ({ to })),
        object(
          'An upstream and its weight.',
          {
            to: required(NAME),
            weight: number('Share of the requests, relative to the other weights.', {
              minimum: 0,
              examples: [3],
            }),
          },
          { examples: [{ to: 'main', weight: 3 }] },
        ),
      ]),
    ),
    [],
  ),
  balance: orElse(
    oneOf('Load balancing: how one of several targets is picked.', BALANCE, {
      examples: ['round-robin'],
    }),
    'first',
  ),
  retries: orElse(
    integer('Retries before the first byte.', { minimum: 0, maximum: 10, examples: [1] }),
    0,
  ),
  retry_on: orElse(
    list(
      'Further statuses after which another attempt is made, also for POST, although the upstream may have processed the request. Never for the calls of a task.',
      integer('A status of the upstream.', { minimum: 404, maximum: 599, examples: [500] }),
      { uniqueItems: true, examples: [[500, 502, 504]] },
    ),
    [],
  ),
  timeout: timeouts('Overrides the timeouts of the upstream.'),
  body: objectOfDefaults(
    'Limits of the request body on this route.',
    {
      limit: bytes('Largest size.', { examples: ['32MiB'] }),
      encodings: orElse(
        list(
          'Accepted compressions.',
          oneOf('A Content-Encoding.', ['gzip', 'deflate', 'br', 'zstd'], {
            examples: ['gzip'],
          }),
          { examples: [['gzip']] },
        ),
        [],
      ),
      inflated: bytes('Largest size after decompression.', { examples: ['64MiB'] }),
    },
    { examples: [{ limit: '32MiB', encodings: ['gzip'], inflated: '64MiB' }] },
  ),
  hangup: orElse(
    anyOf(
      'When the client disconnects: cancel the upstream, or read it further within limits.',
      [
        oneOf('Cancel at once.', ['cancel'], { type: 'string' }),
        reading(
          object(
            'Read the upstream further within limits.',
            {
              drain: required(time('Longest time.', { examples: ['30s'] })),
              bytes: required(bytes('Most bytes.', { examples: ['1MiB'] })),
            },
            { examples: [DRAIN] },
          ),
          ({ drain, bytes }) => ({ ms: drain, bytes }),
        ),
      ],
      { examples: ['cancel', DRAIN] },
    ),
    'cancel',
  ),
  ping: time(
    "A stream that is silent for as long gets a ping: a comment line, or what clients of the route's dialect expect. Before the first byte it begins the response, so that an error from then on is an event.",
    { examples: ['15s'] },
  ),
  rewrite: text("The path sent upstream in place of the request's path.", {
    pattern: '^/\\S*$',
    examples: ['/v2/items/{id}'],
  }),
  websocket: objectOfDefaults(
    'Limits of a WebSocket route.',
    { payload: orElse(bytes('The largest message.', { examples: ['16MiB'] }), '16MiB') },
    { examples: [{ payload: '16MiB' }] },
  ),
})
