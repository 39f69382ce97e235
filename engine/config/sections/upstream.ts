/** Entries of `upstreams:` and `presets:`; plugins add keys. */
import {
  annotate,
  anyOf,
  flag,
  integer,
  json,
  list,
  map,
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
import { time } from './amounts.ts'
import { timeouts } from './timeouts.ts'

const HEADER_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const URLS = { examples: ['https://api.example.com/v1'] }
const ADDRESS = text('One of several base URLs.', {
  pattern: '^(https?://[^\\s/?#]+[^\\s?#]*|[a-z][a-z0-9-]*:)$',
  ...URLS,
})
const placeholder = <const E extends string>(name: string, example: E) =>
  text(`Fills the placeholder {${name}} of the preset.`, {
    pattern: '^[A-Za-z0-9._-]*$',
    examples: [example],
  })
const pathOf = <const D extends string, const E extends string>(description: D, example: E) =>
  text(description, { pattern: '^/[\\x21-\\x7e]*$', examples: [example] })
const PROBE_PATH = pathOf('The path of a GET.', '/v1/health')
const WARM_UP_REQUEST = object(
  'The request of the gateway by which a target is warmed up: a POST. Presets of own engines have one.',
  {
    path: required(pathOf('The path of the POST.', '/v1/warm')),
    body: required(
      json('The JSON of its body. A text that is `*` is the name of the target.', {
        examples: [{ name: '*' }],
      }),
    ),
    idle: time(
      'How long the server keeps what it has prepared after a request; always by default.',
      {
        examples: ['5m'],
      },
    ),
  },
  { examples: [{ path: '/v1/warm', body: { name: '*' }, idle: '5m' }] },
)
const pem = (description: string, notes: { readonly [keyword: string]: unknown }) =>
  text(description, { pattern: '-----BEGIN ', ...notes })

const SECRET = text('A key.', { format: 'password', examples: ['${UPSTREAM_API_KEY}'] })
const WEIGHTED = object(
  'A key and its weight.',
  {
    key: required(annotate(SECRET, { description: 'A key of the gateway at the upstream.' })),
    weight: orElse(
      number('Share of the requests, relative to the other keys; 1 by default.', {
        exclusiveMinimum: 0,
        maximum: 1000000,
        examples: [3],
      }),
      1,
    ),
  },
  { examples: [{ key: '${UPSTREAM_API_KEY}', weight: 3 }] },
)
/** Reads a list of keys with weights. Plugins add members. */
export const KEY = oneOrMore(
  'The key sent upstream, or several that are used in turn; a key that is refused or limited rests.',
  SECRET,
  { examples: ['${UPSTREAM_API_KEY}', ['${FIRST_KEY}', { key: '${SECOND_KEY}', weight: 3 }]] },
  anyOf('A key of the gateway at the upstream.', [
    reading(SECRET, key => WEIGHTED.read({ key })),
    WEIGHTED,
  ]),
)

/** Plugins that sign add members. */
export const AUTH = anyOf(
  'How requests are authenticated: where the key is sent, or by a plugin that signs.',
  [
    oneOf('Authorization: Bearer, or no key.', ['bearer', 'none'], { type: 'string' }),
    object(
      'One of these.',
      {
        header: text('The key is sent in the header of this name.', {
          pattern: `^${HEADER_NAME}$`,
          examples: ['x-api-key'],
        }),
        query: text('The key is sent in the query parameter of this name.', {
          minLength: 1,
          examples: ['key'],
        }),
        scheme: text('The key is sent in Authorization, behind this word.', {
          pattern: `^${HEADER_NAME}$`,
          examples: ['Token'],
        }),
      },
      { minProperties: 1, maxProperties: 1, examples: [{ header: 'x-api-key' }] },
    ),
  ],
  { examples: ['bearer', { header: 'x-api-key' }] },
)

export const UPSTREAM = object(
  'One upstream: its addresses, keys and timeouts.',
  {
    preset: text(
      'Name of an entry of `presets:`, whose keys this upstream takes; its own keys win.',
      {
        examples: ['example'],
      },
    ),
    title: text('The name of the service, which operators see. The name of the entry by default.', {
      minLength: 1,
      maxLength: 100,
      examples: ['Example'],
    }),
    region: placeholder('region', 'eu-west-1'),
    resource: placeholder('resource', 'my-resource'),
    project: placeholder('project', 'my-project'),
    url: orElse(
      oneOrMore(
        'Base URL, several base URLs, or `NAME:` for a plugin that responds inside the gateway.',
        ADDRESS,
        { ...URLS, minItems: 1 },
      ),
      [],
    ),
    provider: text(
      "The provider's own address: used once `key` is set, where `url` names a plugin.",
      { pattern: '^https?://[^\\s/?#]+[^\\s?#]*$', examples: ['https://api.example.com'] },
    ),
    key: KEY,
    auth: AUTH,
    key_wait: time(
      'How long a request waits for a key if all keys have reached their limits and no other target is left.',
      { default: '2s', examples: ['2s'] },
    ),
    timeout: timeouts('How long the gateway waits for an upstream.'),
    connections: orElse(
      integer('Limit of open connections per worker.', {
        minimum: 1,
        maximum: 1000000,
        examples: [128],
      }),
      128,
    ),
    proxy: text('HTTP proxy; each connection is a tunnel through it (CONNECT).', {
      pattern: '^(https?://[^\\s/?#]+/?)?$',
      format: 'password',
      examples: ['http://proxy.example.com:3128'],
    }),
    tls: object(
      'Certificates for an upstream with a private authority, or that demands a certificate of the gateway. PEM texts.',
      {
        ca: pem('Certificates of the authorities that are trusted, instead of the usual ones.', {
          examples: ['${file:/etc/ssl/company.pem}'],
        }),
        cert: pem('Certificate of the gateway, with those of its chain.', {
          examples: ['${file:/run/secrets/gateway.pem}'],
        }),
        key: pem('Private key of `cert`.', {
          format: 'password',
          examples: ['${file:/run/secrets/gateway.key}'],
        }),
      },
      {
        minProperties: 1,
        dependencies: { cert: ['key'], key: ['cert'] },
        examples: [{ ca: '${file:/etc/ssl/company.pem}' }],
      },
    ),
    http2: flag('Whether HTTP/2 is offered; without TLS it is taken for granted.', {
      examples: [true],
    }),
    headers: objectOfDefaults(
      'Request headers sent upstream.',
      {
        pass: orElse(
          list(
            'Request headers that are passed unchanged; a trailing * matches any suffix.',
            text('A header name.', { pattern: `^${HEADER_NAME}[*]?$`, examples: ['x-trace-*'] }),
            { examples: [['x-trace-*']] },
          ),
          [],
        ),
        set: orElse(
          map(
            'Headers that the gateway adds.',
            text('The value of the header.', {
              pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
              examples: ['gateway'],
            }),
            {
              propertyNames: { pattern: `^${HEADER_NAME}$` },
              examples: [{ 'x-client': 'gateway' }],
            },
          ),
          {},
        ),
      },
      { examples: [{ pass: ['x-trace-*'], set: { 'x-client': 'gateway' } }] },
    ),
    warm_up: flag(
      'Whether targets are warmed up by a request of the gateway before clients use them: new ones, those whose address was ejected, and those without a request for `idle`. Meanwhile other targets get the requests; without another one clients do not wait for it.',
      { default: false, examples: [true] },
    ),
    warm_up_request: WARM_UP_REQUEST,
    health: objectOfDefaults(
      'When an address is ejected.',
      {
        failures: orElse(
          integer('Consecutive failures that eject an address.', {
            minimum: 1,
            maximum: 1000000,
            examples: [5],
          }),
          5,
        ),
        eject: time('Time until an ejected address is probed.', {
          default: '10s',
          examples: ['10s'],
        }),
        probe: anyOf(
          'The request of the gateway by which an ejected address is probed, until it answers with a status below 500. Without it a request of a client is the probe.',
          [
            reading(PROBE_PATH, path => ({ path })),
            object(
              'A POST, for example one that warms the server up.',
              {
                path: required(PROBE_PATH),
                body: required(json('The JSON of its body.', { examples: [{ warm: true }] })),
              },
              { examples: [{ path: '/v1/warm', body: { warm: true } }] },
            ),
          ],
          { examples: ['/v1/health'] },
        ),
      },
      { examples: [{ failures: 5, eject: '10s' }] },
    ),
  },
  // With a preset the address is that of the preset. An object with `then` looks like a promise.
  Object.fromEntries([
    ['if', { properties: { preset: false } }],
    ['then', { required: ['url'] }],
  ]),
)

export const PRESET = object(
  'Keys of an upstream.',
  {
    needs: map(
      'Placeholders such as {region}, and what they stand for: the keys that an upstream must set.',
      text('What the key means.', { examples: ['the region, such as eu-west-1'] }),
      {
        propertyNames: { enum: ['region', 'resource', 'project'] },
        examples: [{ region: 'the region, such as eu-west-1' }],
      },
    ),
  },
  { required: ['url'] },
)
