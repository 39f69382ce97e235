/** The `settings:` section: its shape, and its reader with defaults; durations in ms, sizes in
 *  bytes. */
import { isLoopback, parseListenAddress } from '../processes/listen-address.ts'
import { DATA_FOLDER } from '../store/address.ts'
import { DURABILITY } from '../store/open-database.ts'
import { parseSize, SIZE_PATTERN } from './compile/units.ts'
import * as amounts from './sections/amounts.ts'
import {
  anyOf,
  duration,
  integer,
  list,
  object,
  objectOfDefaults,
  ofTypes,
  oneOf,
  orElse,
  reading,
  required,
  text,
} from './shape.ts'

const HOST = '127.0.0.1'
const PORT = '8080'
const LISTEN = `${HOST}:${PORT}`
const ADDRESS =
  '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]*):(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'
/** The text around alternatives describes them. */
const NONE = undefined

const time = <const T extends string>(description: string, value: T) =>
  amounts.time(description, { default: value, examples: [value] })
const bytes = <const T extends string>(description: string, value: T) =>
  amounts.bytes(description, { default: value, examples: [value] })
const workersOf = (workers: string | number): number | 'auto' =>
  workers === 'auto' ? 'auto' : Number(workers)

export const SETTINGS = object(
  'How this gateway runs: addresses, processes, folders and limits.',
  {
    listen: text('Address and port for customers; port 0 selects a free port.', {
      default: LISTEN,
      examples: [LISTEN],
      pattern: ADDRESS,
    }),
    admin: text(
      'Address and port of the admin listener (health, metrics, endpoints of operators); keep it private.',
      { default: '127.0.0.1:9090', examples: ['127.0.0.1:9090'], pattern: ADDRESS },
    ),
    admin_hosts: text(
      'Host names that requests to the admin listener may use, besides loopback and its own address; comma-separated.',
      { default: '', examples: ['gateway-admin.internal'] },
    ),
    metrics_key: text(
      'Credential for GET /metrics of the admin listener (Authorization: Bearer …), at least 16 characters; needed where `admin` is not a loopback address. Empty: none.',
      { format: 'password', default: '', examples: ['${METRICS_KEY:-}'], pattern: '^(\\S{16,})?$' },
    ),
    public_url: text(
      'Base URL of absolute links that customers receive; a path prefix is allowed. Empty: the listen address.',
      { default: '', examples: ['https://api.example.com'], pattern: '^(https?://[^\\s?#]+)?$' },
    ),
    tls: object(
      'Certificate and key of the listener, PEM texts: it then serves HTTPS. Changed files are used at once for new connections.',
      {
        cert: required(
          text('Certificate, followed by those of its chain.', {
            pattern: '-----BEGIN ',
            examples: ['${file:/etc/tollgate/fullchain.pem}'],
          }),
        ),
        key: required(
          text('Private key of `cert`.', {
            pattern: '-----BEGIN ',
            format: 'password',
            examples: ['${file:/etc/tollgate/privkey.pem}'],
          }),
        ),
      },
      {
        examples: [
          { cert: '${file:/etc/tollgate/fullchain.pem}', key: '${file:/etc/tollgate/privkey.pem}' },
        ],
      },
    ),
    trusted_proxies: orElse(
      list(
        'Networks of proxies in front of the gateway. Of their requests, X-Forwarded-For names the client.',
        text('A network or an address.', { examples: ['10.0.0.0/8'] }),
        { examples: [['10.0.0.0/8']] },
      ),
      [],
    ),
    workers: reading(
      ofTypes('Number of worker processes. auto: one per CPU.', ['string', 'integer'], {
        pattern: '^auto$',
        minimum: 1,
        maximum: 1024,
        default: 'auto',
        examples: ['auto', 2],
      }),
      workersOf,
    ),
    young_generation: integer(
      'MiB that each worker holds for new objects from its start. Without it: 1 MiB, which grows with the load up to 16. More takes memory, and spares CPU time under load.',
      { minimum: 1, maximum: 64, examples: [32] },
    ),
    data: text('Folder for the embedded database, caches and the history of versions.', {
      default: DATA_FOLDER,
      examples: [DATA_FOLDER],
    }),
    database: text(
      'Database of accounts and keys. sqlite: alone is tollgate.db in the data folder; postgres:// supports several machines.',
      {
        default: 'sqlite:',
        examples: ['sqlite:', 'postgres://tollgate@db.internal/tollgate'],
        pattern: '^(sqlite:|postgres(ql)?://)',
        format: 'password',
      },
    ),
    durability: oneOf(
      'What an acknowledged write of the embedded database survives. power: a power failure too; process: a crash of this program, even kill -9, at lower cost. PostgreSQL uses its own settings.',
      ['power', 'process'],
      { type: 'string', default: DURABILITY, examples: [DURABILITY] },
    ),
    plugins: list(
      'Folders of your own plugins, beside those of the program. Your plugin replaces one of the program with the same name.',
      text('A folder.', { examples: ['plugins'] }),
      { default: ['plugins'], examples: [['plugins']] },
    ),
    egress_allow: text('Non-public addresses that URLs of customers may reach; comma-separated.', {
      default: '',
      examples: ['127.0.0.1:9000'],
    }),
    limits: objectOfDefaults(
      'Size limits of requests and the limit of connections.',
      {
        body: bytes('Largest request body that is read completely.', '32MiB'),
        url: bytes('Longest request target (path and query).', '8KiB'),
        header_bytes: bytes('Total size of all request headers.', '16KiB'),
        header_count: integer('Largest number of request headers.', {
          minimum: 1,
          maximum: 1000000,
          default: 100,
          examples: [100],
        }),
        connections: integer('Open connections per worker; 0: half of its limit of open files.', {
          minimum: 0,
          maximum: 1000000,
          default: 0,
          examples: [0],
        }),
      },
      {
        examples: [
          {
            body: '32MiB',
            url: '8KiB',
            header_bytes: '16KiB',
            header_count: 100,
            connections: 0,
          },
        ],
      },
    ),
    timeouts: objectOfDefaults(
      'How long the gateway waits for customers.',
      {
        header: time('Until the request head is complete.', '15s'),
        body_rate: bytes(
          'Minimum rate of a request body in bytes per second, after a grace period.',
          '1KiB',
        ),
        keep_alive: time('Until the next request on an idle connection.', '65s'),
        idle_write: time('Until a customer that reads no more bytes is disconnected.', '60s'),
        stage: time(
          'For a stage of a plugin outside of next(), not counting waits for the request body or an upstream. 0s: no limit.',
          '60s',
        ),
        drain: time('For requests in progress to end when the gateway stops.', '20s'),
      },
      {
        examples: [
          {
            header: '15s',
            body_rate: '1KiB',
            keep_alive: '65s',
            idle_write: '60s',
            stage: '60s',
            drain: '20s',
          },
        ],
      },
    ),
    request_log: orElse(
      anyOf(
        'Keeps the line of every request in the data folder, for `tollgate logs` and `tollgate request`.',
        [
          oneOf(NONE, ['off']),
          object(
            NONE,
            {
              size: orElse(
                reading(
                  text('Bytes of all files together; the oldest are removed. 256MiB by default.', {
                    pattern: SIZE_PATTERN,
                    examples: ['256MiB'],
                  }),
                  parseSize,
                ),
                '256MiB',
              ),
              age: orElse(
                duration('Older lines are removed. 7d by default.', {
                  examples: ['7d'],
                  pattern: '^[1-9][0-9]{0,4}(m|h|d)$',
                }),
                '7d',
              ),
            },
            { examples: [{ size: '256MiB', age: '7d' }] },
          ),
        ],
        { examples: [{ size: '256MiB', age: '7d' }] },
      ),
      {},
    ),
    log: objectOfDefaults(
      'Log settings.',
      {
        level: oneOf(
          'Lowest level of log lines that are written.',
          ['debug', 'info', 'warn', 'error', 'silent'],
          { default: 'info', examples: ['info'] },
        ),
      },
      { examples: [{ level: 'info' }] },
    ),
  },
  {
    examples: [
      {
        listen: '127.0.0.1:8080',
        admin: '127.0.0.1:9090',
        public_url: 'https://api.example.com',
        workers: 'auto',
        data: 'data',
        database: 'sqlite:',
        durability: 'power',
        plugins: ['plugins'],
        egress_allow: '127.0.0.1:9000',
        limits: {
          body: '32MiB',
          url: '8KiB',
          header_bytes: '16KiB',
          header_count: 100,
          connections: 0,
        },
        timeouts: {
          header: '15s',
          body_rate: '1KiB',
          keep_alive: '65s',
          idle_write: '60s',
          drain: '20s',
        },
        log: { level: 'info' },
      },
    ],
  },
)

/** The `settings:` section, in ms and bytes. */
export type Settings = ReturnType<typeof readSettings>

/** The URL that clients use: as configured, or the one of this machine. */
export const publicUrl = (
  { listen, public_url: configured }: Pick<Settings, 'listen' | 'public_url'>,
  localUrl: string | undefined,
): string =>
  configured.replace(/^https?:\/\//, '') === listen ? (localUrl ?? configured) : configured

/** Whether only programs on this machine use the gateway, as far as its settings tell. */
export const isLocal = ({ listen, public_url }: Pick<Settings, 'listen' | 'public_url'>): boolean =>
  isLoopback(parseListenAddress(listen).host) &&
  isLoopback(new URL(public_url).hostname.replace(/^\[|\]$/g, ''))

/** `raw`: a section that is valid. Missing settings come from environment variables, then from
 *  defaults. */
export const readSettings = (
  raw: Readonly<Record<string, unknown>> | object = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
) => {
  const variables = {
    listen: `${env.HOST || HOST}:${env.PORT || PORT}`,
    admin: env.ADMIN_PORT && `127.0.0.1:${env.ADMIN_PORT}`,
    admin_hosts: env.ADMIN_HOSTS,
    public_url: env.PUBLIC_URL,
    workers: env.WORKERS,
    data: env.TOLLGATE_DATA,
    database: env.DATABASE_URL,
    egress_allow: env.EGRESS_ALLOW,
  }
  const values = raw as Readonly<Record<string, unknown>>
  const present = Object.entries(variables).map(([name, variable]) => [
    name,
    String(values[name] ?? '') || variable || undefined,
  ])
  const {
    plugins: _,
    public_url: url,
    request_log: log,
    tls,
    young_generation,
    ...settings
  } = SETTINGS.read({ ...values, ...Object.fromEntries(present) })
  return {
    ...settings,
    public_url: (url || `${tls ? 'https' : 'http'}://${settings.listen}`).replace(/\/+$/, ''),
    /** PEM texts; undefined: the listener speaks plain HTTP. */
    tls,
    /** MiB of new objects of a worker from its start; undefined: it grows with the load. */
    young_generation,
    /** The bounds of the request log: bytes, ms. Undefined: it is off. */
    request_log: log === 'off' ? undefined : log,
  }
}
