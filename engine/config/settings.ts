/** Reads the `settings:` section with defaults; durations in ms, sizes in bytes. */
import { amountIn, DURATIONS } from '../kit.ts'
import { parseDuration, parseSize } from './compile/units.ts'

/** The `settings:` section, in ms and bytes. */
export interface Settings {
  readonly listen: string
  readonly admin: string
  /** `Host` names that the admin listener accepts besides loopback. */
  readonly admin_hosts: string
  /** The credential for `/metrics` over TCP; empty: none. */
  readonly metrics_key: string
  readonly public_url: string
  /** PEM texts; undefined: the listener speaks plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly trusted_proxies: readonly string[]
  readonly workers: number | 'auto'
  readonly data: string
  readonly database: string
  readonly durability: 'power' | 'process'
  readonly egress_allow: string
  readonly limits: {
    readonly body: number
    readonly url: number
    readonly header_bytes: number
    readonly header_count: number
    /** 0: half of the open files that the system allows. */
    readonly connections: number
  }
  readonly timeouts: {
    readonly header: number
    /** Bytes a second. */
    readonly body_rate: number
    readonly keep_alive: number
    readonly idle_write: number
    /** Longest own time of a stage, outside of `next()`; 0: unlimited. */
    readonly stage: number
    readonly drain: number
  }
  readonly log: { readonly level: string }
  /** MiB of new objects of a worker from its start; undefined: it grows with the load. */
  readonly young_generation: number | undefined
  /** The bounds of the request log: bytes, ms. Undefined: it is off. */
  readonly request_log: { readonly size: number; readonly age: number } | undefined
}

type RawSettings<T> = { readonly [K in keyof T]?: unknown }
const part = <K extends keyof Settings>(
  section: RawSettings<Settings>,
  name: K,
): RawSettings<Settings[K]> => (section[name] ?? {}) as RawSettings<Settings[K]>

/** The URL that clients use: as configured, or the one of this machine. */
export const publicUrl = (
  { listen, public_url: configured }: Pick<Settings, 'listen' | 'public_url'>,
  localUrl: string | undefined,
): string =>
  configured.replace(/^https?:\/\//, '') === listen ? (localUrl ?? configured) : configured

/** `raw`: a section that is valid. Missing settings come from environment variables, then from
 *  defaults. */
export const readSettings = (
  raw: RawSettings<Settings> = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Settings => {
  const text = (name: keyof Settings, variable: string | undefined, fallback: string): string =>
    String(raw[name] ?? '') || variable || fallback
  const limits = part(raw, 'limits')
  const timeouts = part(raw, 'timeouts')
  const ms = (name: keyof Settings['timeouts'], fallback: string): number =>
    parseDuration(String(timeouts[name] ?? fallback))
  const bytes = (value: unknown, fallback: string): number => parseSize(String(value ?? fallback))
  const address = `${env.HOST || '127.0.0.1'}:${env.PORT || '8080'}`
  const listen = text('listen', address, address)
  const workers = text('workers', env.WORKERS, 'auto')
  return {
    listen,
    admin: text('admin', env.ADMIN_PORT && `127.0.0.1:${env.ADMIN_PORT}`, '127.0.0.1:9090'),
    admin_hosts: text('admin_hosts', env.ADMIN_HOSTS, ''),
    metrics_key: String(raw.metrics_key ?? ''),
    public_url: text(
      'public_url',
      env.PUBLIC_URL,
      `${raw.tls ? 'https' : 'http'}://${listen}`,
    ).replace(/\/+$/, ''),
    tls: raw.tls as Settings['tls'],
    trusted_proxies: (raw.trusted_proxies ?? []) as readonly string[],
    workers: workers === 'auto' ? 'auto' : Number(workers),
    data: text('data', env.TOLLGATE_DATA, 'data'),
    database: text('database', env.DATABASE_URL, 'sqlite:'),
    durability: raw.durability === 'process' ? 'process' : 'power',
    egress_allow: text('egress_allow', env.EGRESS_ALLOW, ''),
    limits: {
      body: bytes(limits.body, '32MiB'),
      url: bytes(limits.url, '8KiB'),
      header_bytes: bytes(limits.header_bytes, '16KiB'),
      header_count: Number(limits.header_count ?? 100),
      connections: Number(limits.connections ?? 0),
    },
    timeouts: {
      header: ms('header', '15s'),
      body_rate: bytes(timeouts.body_rate, '1KiB'),
      keep_alive: ms('keep_alive', '65s'),
      idle_write: ms('idle_write', '60s'),
      stage: ms('stage', '60s'),
      drain: ms('drain', '20s'),
    },
    log: { level: String(part(raw, 'log').level ?? 'info') },
    young_generation: raw.young_generation === undefined ? undefined : Number(raw.young_generation),
    request_log: requestLog(raw.request_log),
  }
}

const requestLog = (raw: unknown): Settings['request_log'] => {
  if (raw === 'off') return undefined
  const { size = '256MiB', age = '7d' } = (raw ?? {}) as Readonly<Record<string, unknown>>
  return { size: parseSize(String(size)), age: amountIn(String(age), DURATIONS) }
}
