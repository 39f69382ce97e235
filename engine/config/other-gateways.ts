/** Words of other gateways, with the way to configure the same here. */
import type { Plugins } from './schema.ts'

const RETRY = 'a route has `retries: 2` and `retry_on: [500]`'
const BALANCE = 'a route has `balance: round-robin`, and its targets have `weight:`'
const TLS = 'the listener has `settings.tls: { cert, key }`, an upstream `tls: { ca, cert, key }`'
const CORS = 'pages of other origins are let in by `cors:`, of a route or at the top'
const UPSTREAMS = 'a route has `upstream: NAME`, whose `url:` is under `upstreams:`'
const REWRITE = 'a route has `rewrite: /v2/items/{id}`'
const PROXY = 'an upstream has `proxy: http://HOST:PORT`'
const URL = 'an upstream has `url:`'
const KEY = 'an upstream has `key:`, one or a list'
const LISTEN = '`settings.listen` is HOST:PORT'
const LOG = '`settings.log: { level: debug }`'
const STAGES = 'a plugin is a key on a route, named in `pipeline:`'
const PROXIES = '`settings.trusted_proxies: [10.0.0.0/8]`'

const HINTS: Hints = {
  retry: RETRY,
  num_retries: RETRY,
  max_retries: RETRY,
  retry_policy: RETRY,
  strategy: BALANCE,
  load_balancing: BALANCE,
  loadbalance: BALANCE,
  lb_policy: BALANCE,
  routing_strategy: BALANCE,
  tls: TLS,
  ssl: TLS,
  https: TLS,
  ssl_certificate: TLS,
  ssl_verify: TLS,
  cert: TLS,
  certificate: TLS,
  certificates: TLS,
  tls_cert: TLS,
  services: UPSTREAMS,
  service: UPSTREAMS,
  server: UPSTREAMS,
  servers: UPSTREAMS,
  backend: UPSTREAMS,
  backends: UPSTREAMS,
  proxy_pass: UPSTREAMS,
  reverse_proxy: UPSTREAMS,
  strip_path: REWRITE,
  strip_prefix: REWRITE,
  path_rewrite: REWRITE,
  http_proxy: PROXY,
  https_proxy: PROXY,
  proxies: PROXY,
  cors: CORS,
  cors_origins: CORS,
  allowed_origins: CORS,
  base_url: URL,
  api_base: URL,
  endpoint: URL,
  upstream_url: URL,
  api_key: KEY,
  apikey: KEY,
  keys: KEY,
  port: LISTEN,
  host: LISTEN,
  bind: LISTEN,
  log_level: LOG,
  logging: LOG,
  middleware: STAGES,
  middlewares: STAGES,
  guardrails: STAGES,
  hooks: STAGES,
  trusted_ips: PROXIES,
  trust_proxy: PROXIES,
  real_ip: PROXIES,
  x_forwarded_for: PROXIES,
  trusted_proxy: PROXIES,
}

export type Hints = Readonly<Record<string, string>>

/** The hints of the engine and of all plugins. */
export const hintsOf = (plugins: Plugins): Hints =>
  Object.assign({}, HINTS, ...[...plugins.values()].map(({ hints }) => hints))

/** `word`: an unknown key. `place`: of its map; a hint may be for the word at this place only.
 *  Empty if there is no hint. */
export const hintFor = (word: string, place: string, hints: Hints): string => {
  const name = word.toLowerCase().replaceAll('-', '_')
  const key = [`${place}.${name}`, name].find(each => Object.hasOwn(hints, each))
  return key === undefined ? '' : `; ${hints[key]}`
}
