/** Compiles the `upstreams:` section: origins with their pools, rotating keys, deadlines, headers
 *  that pass. */
import { createHash } from 'node:crypto'
import { type ConnectionOptions, openConnector } from '../../egress/connector.ts'
import { GeneralPool } from '../../egress/general-pool.ts'
import type { Document, Headers, Json, Plugin, Target } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { CredentialMask, withoutScheme } from '../../upstream/credential-mask.ts'
import { KeyHealth, type UpstreamKey, UpstreamKeys } from '../../upstream/keys.ts'
import { Origin } from '../../upstream/origin.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import type { CompileFault } from './compile-problem.ts'
import { findConnectionFaults } from './connection-faults.ts'
import { findKeyFaults, type KeyOptions, readKeys } from './keys.ts'
import { createPassRule } from './pass-rule.ts'
import { parseDuration } from './units.ts'
import { healthListeners, type ListenToHealth } from './upstream-log.ts'

/** As the schema of routes.yaml accepts it (config/schema.ts). */
export interface UpstreamOptions {
  readonly url: string | readonly string[]
  /** The address once there is a key, if `url` names a plugin. */
  readonly provider?: string
  readonly key?: KeyOptions
  readonly auth?: Auth
  readonly timeout?: Partial<Record<keyof Deadlines, string>>
  readonly connections?: number
  readonly proxy?: string
  readonly tls?: ConnectionOptions['tls']
  readonly http2?: boolean
  readonly headers?: {
    readonly pass?: readonly string[]
    readonly set?: Readonly<Record<string, string>>
  }
  readonly health?: { readonly failures?: number; readonly eject?: string }
  readonly [plugin: string]: unknown
}
type Auth =
  | 'bearer'
  | 'none'
  | { readonly scheme: string }
  | { readonly header: string }
  | { readonly query: string }
  /** A plugin that signs, with its options (upstream-auth.ts). */
  | { readonly [plugin: string]: unknown }
const DEADLINES: Deadlines = {
  connect: 5_000,
  first_byte: 120_000,
  first_content: Number.POSITIVE_INFINITY,
  preamble: 5_000,
  idle: 60_000,
}
const ENGINE_KEYS = new Set([
  'preset',
  'url',
  'provider',
  'key',
  'auth',
  'timeout',
  'connections',
  'proxy',
  'tls',
  'http2',
  'headers',
  'health',
])

const NO_POOL = { connect: 0, connections: 0 }
/** `url: NAME:`: the plugin of that name serves the upstream, inside the process. */
const INSIDE = /^([a-z][a-z0-9-]*):$/
const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly T[]) : [value as T]

export type AcquireShared = <T extends object>(key: string, version: string, create: () => T) => T

/** Compiles all upstreams. Adds the release functions of their origins to `releases`, and a fault
 *  for each invalid address to `faults`. */
export const compileUpstreams = (
  document: Document,
  plugins: ReadonlyMap<string, Plugin>,
  resources: Resources,
  releases: (() => void)[],
  faults: CompileFault[],
): ReadonlyMap<string, Upstream> => {
  const section = (document.upstreams ?? {}) as unknown as Record<string, UpstreamOptions>
  const credentials = [...plugins.values()].flatMap(plugin => plugin.credentialHeaders ?? [])
  const upstreams = new Map<string, Upstream>()
  const listen = resources.role === 'command' ? undefined : healthListeners(resources)
  const share: AcquireShared = (key, version, create) => {
    const { value, release } = resources.shared.acquire(key, version, create)
    releases.push(release)
    return value
  }
  for (const [name, options] of Object.entries(section)) {
    faults.push(...findConnectionFaults(name, options), ...findKeyFaults(name, options))
    try {
      upstreams.set(name, compileUpstream(name, options, share, listen, credentials))
    } catch {
      faults.push({
        where: ['upstreams', name, 'url'],
        code: 'UPSTREAM_ADDRESS',
        message: `the address of the upstream "${name}" is invalid; check its port (at most 65535) and brackets`,
      })
    }
  }
  return upstreams
}

/** `credentials`: names of headers with credentials of clients, see `Plugin.credentialHeaders`. */
export const compileUpstream = (
  name: string,
  options: UpstreamOptions,
  share: AcquireShared,
  listen?: ListenToHealth,
  credentials: readonly string[] = [],
): Upstream => {
  const urls = urlsOf(options)
  const inside = INSIDE.exec(urls[0] ?? '')?.[1]
  const deadlines = readDeadlines(options.timeout, DEADLINES)
  const openOrigin = createOpener(deadlines, options, share, listen)
  const origins = inside
    ? [{ origin: share(`inside ${name}`, '', () => new Origin(undefined, NO_POOL)), base: '' }]
    : urls.map(openOrigin)
  const keys = openKeys(options, origins[0]?.origin, listen)
  return {
    name,
    inside,
    origins,
    deadlines,
    health: {
      failures: options.health?.failures ?? 5,
      eject: parseDuration(options.health?.eject ?? '10s'),
      ...(keys && keys.list.length > 1 && { restsKeys: true }),
    },
    set: options.headers?.set ?? {},
    view: {
      ...(inside && { inside }),
      options: Object.fromEntries(
        Object.entries(options).filter(([key]) => !ENGINE_KEYS.has(key)) as [string, Json][],
      ),
    },
    pass: createPassRule(options.headers?.pass ?? [], credentials),
    keys,
    mask: maskOf(options),
    sign: createSigner(options.auth, keys),
  }
}
/** Names of headers whose values are credentials. */
const CREDENTIAL_HEADER = /auth|key|secret|credential/i
const maskOf = ({ key, headers }: UpstreamOptions): CredentialMask | undefined => {
  const set = Object.entries(headers?.set ?? {})
  const secrets = [
    ...readKeys(key).map(({ value }) => value),
    ...set.flatMap(([name, value]) => (CREDENTIAL_HEADER.test(name) ? [value] : [])),
  ]
  const mask = new CredentialMask(secrets.map(withoutScheme))
  return mask.isEmpty ? undefined : mask
}

const urlsOf = (options: UpstreamOptions): readonly string[] => {
  const { url, provider } = options
  const isProvided = provider !== undefined && readKeys(options.key).length > 0
  return isProvided && INSIDE.test(listOf(url)[0] ?? '') ? [provider] : listOf(url)
}

export const readDeadlines = (
  options: UpstreamOptions['timeout'],
  defaults: Deadlines,
): Deadlines => {
  const read = (name: keyof Deadlines): number => {
    const text = options?.[name]
    return text ? parseDuration(text) : defaults[name]
  }
  return {
    connect: read('connect'),
    first_byte: read('first_byte'),
    first_content: read('first_content'),
    preamble: read('preamble'),
    idle: read('idle'),
  }
}

const createOpener = (
  { connect }: Deadlines,
  options: UpstreamOptions,
  share: AcquireShared,
  listen?: ListenToHealth,
) => {
  const { connections = 128 } = options
  const connection = connectionOf(options)
  // Upstreams that connect in another way share neither connections nor health.
  const way = connection ? ` ${digestOf(JSON.stringify(connection))}` : ''
  return (url: string) => {
    const address = new URL(url)
    const { origin, pathname } = address
    const pool = () =>
      connection &&
      new GeneralPool(origin, connections, () => openConnector(address, connection, connect))
    const create = (): Origin =>
      new Origin(origin, { connect, connections }, listen?.(origin), pool())
    return {
      origin: share(`origin ${origin}${way}`, `${connect}/${connections}`, create),
      base: pathname.replace(/\/+$/, ''),
    }
  }
}

/** The state of a key lives with the first address of its upstream, so that it outlives reloads. */
const openKeys = (
  { key, auth }: UpstreamOptions,
  origin: Origin | undefined,
  listen?: ListenToHealth,
): UpstreamKeys | undefined => {
  const place = placeOf(auth)
  const keys = readKeys(key)
  if (!place || !origin || keys.length === 0) return undefined
  const { prefix = '' } = place
  const list = keys.map(({ name, value, weight }) => ({
    name,
    value: prefix + value,
    weight,
    health: keyHealth(origin, name, listen),
  }))
  return new UpstreamKeys(list)
}
const keyHealth = (origin: Origin, name: string, listen?: ListenToHealth): KeyHealth => {
  const health = origin.keys.get(name) ?? new KeyHealth(listen?.(origin.address ?? '', name))
  origin.keys.set(name, health)
  return health
}
/** Undefined for a plain connection. An empty proxy, from a variable that is not set, is none. */
const connectionOf = ({ proxy, tls, http2 }: UpstreamOptions): ConnectionOptions | undefined => {
  const isPlain = !proxy && tls === undefined && !http2
  return isPlain ? undefined : { proxy: proxy || undefined, tls, http2 }
}

/** For requests without a target. */
const NO_TARGET: Target = { upstream: '' }
const createSigner = (auth: UpstreamOptions['auth'], keys: UpstreamKeys | undefined) => {
  const place = placeOf(auth)
  if (!keys || !place) return (_: Headers, path: string): string => path
  const { header, query } = place
  const nextKey = (): UpstreamKey => keys.pick(NO_TARGET, performance.now(), true)
  if (header !== undefined)
    return (headers: Headers, path: string, key = nextKey()): string => {
      headers[header] = key.value
      return path
    }
  return (_: Headers, path: string, key = nextKey()): string =>
    `${path}${path.includes('?') ? '&' : '?'}${query}=${encodeURIComponent(key.value)}`
}
/** Where the key is sent, and what stands before it. */
interface KeyPlace {
  readonly header?: string
  readonly query?: string
  readonly prefix?: string
}
/** Undefined where no key is sent. */
const placeOf = (auth: Auth = 'bearer'): KeyPlace | undefined => {
  if (auth === 'none') return undefined
  if (auth === 'bearer') return { header: 'authorization', prefix: 'Bearer ' }
  const { scheme, header, query } = auth as Readonly<Record<string, string | undefined>>
  if (scheme !== undefined) return { header: 'authorization', prefix: `${scheme} ` }
  if (header !== undefined) return { header: header.toLowerCase() }
  return query === undefined ? undefined : { query }
}
/** Identifies a text where the text itself must not stand. */
const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12)
