/** The engine's own keys of routes.yaml as JSON Schema: what each means, with an example, as editors show it. */
import { DURATION, SIZE } from './units.ts'

type Schema = Readonly<Record<string, unknown>>
type Properties = Readonly<Record<string, Schema>>

const text = (description: string, example: string, more: Schema = {}): Schema => ({
  description,
  type: 'string',
  examples: [example],
  ...more,
})
const time = (description: string, example: string): Schema =>
  text(description, example, { pattern: DURATION })
const bytes = (description: string, example: string): Schema => ({
  description,
  type: ['string', 'integer'],
  pattern: SIZE,
  minimum: 0,
  examples: [example],
})
const count = (description: string, example: number, minimum = 1): Schema => ({
  description,
  type: 'integer',
  minimum,
  maximum: 1_000_000,
  examples: [example],
})
const map = (description: string, properties: Properties, more: Schema = {}): Schema => ({
  description,
  type: 'object',
  additionalProperties: false,
  properties,
  examples: [example(properties)],
  ...more,
})
const list = (description: string, items: Schema, example: unknown, more: Schema = {}): Schema => ({
  description,
  type: 'array',
  items,
  examples: [example],
  ...more,
})
/** A map's example is made of its keys' examples, so that it cannot go stale. */
const example = (properties: Properties) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { examples }]) => [
      name,
      Array.isArray(examples) ? examples[0] : undefined,
    ]),
  )

const PORT = '(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
const ADDRESS = `^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]*):${PORT}$`
const HEADER_NAME = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
/** No line break and no other control character can reach the wire. */
const HEADER_VALUE = '^[\\t\\x20-\\x7e\\x80-\\xff]*$'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'WS']
const METHOD = `(?:${METHODS.join('|')})`

const settings = map('How this gateway runs: addresses, processes, folders and bounds.', {
  listen: text(
    'Address and port that serve customers; port 0 takes a free one.',
    '127.0.0.1:8080',
    {
      pattern: ADDRESS,
    },
  ),
  admin: text(
    'Address and port of health, metrics and the configuration; keep it private.',
    '127.0.0.1:9090',
    { pattern: ADDRESS },
  ),
  public_url: text(
    'What absolute addresses given to customers start with; a path prefix is allowed. Empty: the listen address.',
    'https://api.example.com',
    { pattern: '^(https?://[^\\s?#]+)?$' },
  ),
  workers: {
    description: 'Serving processes. auto: one for each CPU.',
    type: ['string', 'integer'],
    pattern: '^auto$',
    minimum: 1,
    maximum: 1024,
    examples: ['auto', 2],
  },
  data: text('Folder for the embedded database, caches and the history of versions.', 'data'),
  database: text(
    'Where accounts and keys live. sqlite: alone is tollgate.db in the data folder.',
    'sqlite:',
    {
      pattern: '^(sqlite:|postgres(ql)?://)',
      format: 'password',
    },
  ),
  plugins: list('Folders whose files are plugins.', text('A folder.', 'plugins'), ['plugins']),
  egress_allow: text(
    'Addresses besides public ones that customers may make the gateway call, with commas.',
    '127.0.0.1:9000',
  ),
  limits: map('Bounds on what a customer may send.', {
    body: bytes('A request body that is read whole.', '32MiB'),
    url: bytes('The request target.', '8KiB'),
    header_bytes: bytes('All request headers together.', '16KiB'),
    header_count: count('Request headers.', 100),
    connections: count('Open connections of one worker; 0: half of the files it may open.', 0, 0),
  }),
  timeouts: map('How long the gateway waits for customers.', {
    header: time('For the whole request head.', '15s'),
    body_rate: bytes('Bytes a second, the slowest a body may arrive after a grace.', '1KiB'),
    keep_alive: time('For the next request on an idle connection.', '65s'),
    idle_write: time('For a customer that takes no more bytes.', '60s'),
    drain: time('For running requests to end when the gateway stops.', '20s'),
  }),
  log: map('What is logged.', {
    level: {
      description: 'The least grave line that is written.',
      enum: ['debug', 'info', 'warn', 'error', 'silent'],
      examples: ['info'],
    },
  }),
})

const patience = map('How long the gateway waits for an upstream.', {
  connect: time('For a connection.', '5s'),
  first_byte: time('For the head of the answer.', '120s'),
  idle: time('Between two chunks of the answer.', '60s'),
})
const address = (description: string) =>
  text(description, 'https://api.example.com/v1', {
    pattern: '^(https?://[^\\s/?#]+[^\\s?#]*|[a-z][a-z0-9-]*:)$',
  })
const secret = text('A key the upstream knows us by.', '${UPSTREAM_API_KEY}', {
  format: 'password',
})

const upstream: Properties = {
  url: {
    ...address('Base address, several of them, or `NAME:` for a plugin that answers by itself.'),
    type: ['string', 'array'],
    items: address('One of several base addresses.'),
    minItems: 1,
  },
  key: {
    ...secret,
    description: 'The key sent upstream, or several that take turns.',
    type: ['string', 'array'],
    items: secret,
  },
  auth: {
    description: 'How the key is sent.',
    anyOf: [
      {
        type: 'string',
        enum: ['bearer', 'none'],
        description: 'Authorization: Bearer, or not at all.',
      },
      map(
        'In a header.',
        { header: text('Its name.', 'x-api-key', { pattern: HEADER_NAME }) },
        {
          required: ['header'],
        },
      ),
      map(
        'In the query.',
        { query: text('Its name.', 'key', { minLength: 1 }) },
        { required: ['query'] },
      ),
    ],
    examples: ['bearer', { header: 'x-api-key' }],
  },
  timeout: patience,
  connections: count('Most open connections of one worker.', 128),
  headers: map('Headers on their way upstream.', {
    pass: list(
      'Request headers that go through as they came; a * at the end stands for any rest.',
      text('A header name.', 'x-trace-*', { pattern: `${HEADER_NAME.slice(0, -1)}[*]?$` }),
      ['x-trace-*'],
    ),
    set: {
      description: 'Headers the gateway adds.',
      type: 'object',
      propertyNames: { pattern: HEADER_NAME },
      additionalProperties: text('Its value.', 'gateway', { pattern: HEADER_VALUE }),
      examples: [{ 'x-client': 'gateway' }],
    },
  }),
  health: map('When an address is left out for a while.', {
    failures: count('Failures in a row that eject it.', 5),
    eject: time('How long before it is probed.', '10s'),
  }),
}

const target = map(
  'An upstream and its share.',
  {
    to: text('A name under upstreams.', 'main'),
    weight: { description: 'Its share.', type: 'number', minimum: 0, examples: [3] },
  },
  { required: ['to'] },
)
const route: Properties = {
  path: text(
    'METHOD /path, with {name} for one segment; several methods as GET|HEAD.',
    'GET /v1/items/{id}',
    {
      pattern: `^${METHOD}([|]${METHOD})* /\\S*$`,
    },
  ),
  name: text('A short name for logs and metrics; the path where there is none.', 'items'),
  upstream: {
    description: 'Where requests go: a name under upstreams, or several, best first.',
    type: ['string', 'array'],
    items: { anyOf: [text('A name under upstreams.', 'main'), target] },
    minItems: 1,
    examples: ['main', ['main', 'spare'], [{ to: 'main', weight: 3 }, 'spare']],
  },
  balance: {
    description: 'How one of several targets is picked.',
    enum: ['first', 'round-robin', 'weighted', 'least-busy'],
    examples: ['round-robin'],
  },
  retries: { ...count('Further tries before the first byte.', 1, 0), maximum: 10 },
  timeout: { ...patience, description: "Overrides the upstream's." },
  body: map('The request body on this route.', {
    limit: bytes('The most it may hold.', '32MiB'),
    encodings: list(
      'Compressions that are accepted.',
      {
        enum: ['gzip', 'deflate', 'br', 'zstd'],
        description: 'A Content-Encoding.',
        examples: ['gzip'],
      },
      ['gzip'],
    ),
    inflated: bytes('The most it may unfold to.', '64MiB'),
  }),
  hangup: {
    description: 'When the customer leaves: cancel the upstream, or read on within bounds.',
    anyOf: [
      { type: 'string', enum: ['cancel'], description: 'Cancel at once.' },
      map('Read on within bounds.', {
        drain: time('At most so long.', '30s'),
        bytes: bytes('At most so much.', '1MiB'),
      }),
    ],
    examples: ['cancel', { drain: '30s', bytes: '1MiB' }],
  },
  ping: time('Sends a comment line so often before the first byte of a stream.', '15s'),
  rewrite: text('The path sent upstream instead.', '/v2/items/{id}', { pattern: '^/\\S*$' }),
}

export const KEYS = {
  settings,
  include: list(
    'Files that hold further entries of the sections below; * and ** are allowed.',
    text('A file or a pattern.', 'upstreams/*.yaml'),
    ['upstreams/*.yaml'],
  ),
  upstream,
  route,
}
