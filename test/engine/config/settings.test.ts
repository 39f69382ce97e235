/** The `settings:` section: defaults, environment variables and units. */
import '../../helpers/environment.ts'
import t from 'tap'
import { readSettings, SETTINGS } from '../../../engine/config/settings.ts'

t.test('settings: missing values have defaults', async t => {
  t.same(readSettings(undefined, {}), {
    listen: '127.0.0.1:8080',
    admin: '127.0.0.1:9090',
    metrics_key: '',
    admin_hosts: '',
    public_url: 'http://127.0.0.1:8080',
    tls: undefined,
    trusted_proxies: [],
    workers: 'auto',
    data: 'data',
    database: 'sqlite:',
    durability: 'power',
    egress_allow: '',
    limits: {
      body: 33_554_432,
      url: 8_192,
      header_bytes: 16_384,
      header_count: 100,
      connections: 0,
    },
    timeouts: {
      header: 15_000,
      body_rate: 1_024,
      keep_alive: 65_000,
      idle_write: 60_000,
      stage: 60_000,
      drain: 20_000,
    },
    log: { level: 'info' },
    young_generation: undefined,
    request_log: { size: 268_435_456, age: 604_800_000 },
  })
  t.same(readSettings({}, {}), readSettings(undefined, {}))
})

t.test('settings: an empty value counts as missing', async t => {
  const empty = { listen: '', admin: '', public_url: '', workers: '', data: '', database: '' }
  t.same(readSettings(empty), readSettings())
})

t.test('settings: explicit values override defaults', async t => {
  const settings = readSettings({
    listen: '0.0.0.0:80',
    public_url: 'https://api.test/gate//',
    workers: '4',
    limits: { body: '1MiB', url: 100, header_count: 7, connections: '9' },
    timeouts: { header: '250ms', body_rate: '2KB', drain: '1m' },
    log: { level: 'debug' },
    durability: 'process',
  })
  t.match(settings, {
    durability: 'process',
    listen: '0.0.0.0:80',
    public_url: 'https://api.test/gate',
    workers: 4,
    limits: { body: 1_048_576, url: 100, header_bytes: 16_384, header_count: 7, connections: 9 },
    timeouts: { header: 250, body_rate: 2_000, keep_alive: 65_000, drain: 60_000 },
    log: { level: 'debug' },
  })
  t.equal(readSettings({ listen: '1.2.3.4:5' }).public_url, 'http://1.2.3.4:5')
})

t.test('settings: durations without a unit and invalid sizes throw', async t => {
  t.throws(() => readSettings({ timeouts: { header: '15' } }), /"15" is not a duration/)
  t.throws(() => readSettings({ limits: { body: 'much' } }), /"much" is not a size/)
})

t.test('settings: the environment supplies missing settings only', async t => {
  const env = {
    HOST: '0.0.0.0',
    PORT: '81',
    WORKERS: '3',
    ADMIN_PORT: '82',
    TOLLGATE_DATA: '/d',
    PUBLIC_URL: 'https://a.example/b/',
    EGRESS_ALLOW: '127.0.0.1',
    DATABASE_URL: 'sqlite:x',
    ADMIN_HOSTS: 'admin.test',
  }
  t.match(readSettings({}, env), {
    listen: '0.0.0.0:81',
    workers: 3,
    admin: '127.0.0.1:82',
    data: '/d',
    public_url: 'https://a.example/b',
    egress_allow: '127.0.0.1',
    database: 'sqlite:x',
    admin_hosts: 'admin.test',
  })
  t.match(readSettings({ listen: '127.0.0.1:1', workers: 2 }, env), {
    listen: '127.0.0.1:1',
    workers: 2,
  })
})

t.test('settings: the public URL follows the listener, and the request log can be off', async t => {
  const tls = { cert: 'cert.pem', key: 'key.pem' }
  t.match(readSettings({ listen: '127.0.0.1:8443', tls, request_log: 'off' }, {}), {
    public_url: 'https://127.0.0.1:8443',
    request_log: undefined,
  })
})

t.test('settings: a default of the schema reads as a missing value does', async t => {
  type Schema = { readonly default?: unknown; readonly properties?: Record<string, Schema> }
  const defaults = (schema: Schema): readonly (readonly [string, unknown])[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
      if ('default' in each) return [[name, each.default] as const]
      return defaults(each).map(([inner, value]) => [name, { [inner]: value }] as const)
    })
  const all = defaults(SETTINGS.schema as Schema)
  t.ok(all.length > 20, `${all.length} defaults`)
  for (const [name, value] of all)
    t.same(readSettings({ [name]: value }, {}), readSettings({}, {}), `${name} ${String(value)}`)
})
