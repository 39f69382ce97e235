/** Compiles the `upstreams:` section: origins with their pools, rotating keys, deadlines, headers
 *  that pass. */
import { createHash } from 'node:crypto'
import { type ConnectionOptions, openConnector } from '../../egress/connector.ts'
import { GeneralPool } from '../../egress/general-pool.ts'
import type { Document, Headers, Json, Plugin, Target } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { CredentialMask, withoutScheme } from '../../upstream/credential-mask.ts'
import { createProber } from '../../upstream/health-probe.ts'
import { KeyHealth, type UpstreamKey, UpstreamKeys } from '../../upstream/keys.ts'
import { Origin } from '../../upstream/origin.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import { UPSTREAM } from '../sections/upstream.ts'
import type { RawOf, ValueOf } from '../shape.ts'
import type { CompileFault } from './compile-problem.ts'
import { findConnectionFaults } from './connection-faults.ts'
import { findKeyFaults, type ReadKey, readKeys } from './keys.ts'
import { createPassRule } from './pass-rule.ts'
import { healthListeners, type ListenToHealth } from './upstream-log.ts'

/** As the schema of routes.yaml accepts it; plugins add keys. */
export type UpstreamOptions = RawOf<typeof UPSTREAM> & { readonly [plugin: string]: unknown }
type UpstreamValues = ValueOf<typeof UPSTREAM>
const DEADLINES: Deadlines = {
  connect: 5_000,
  first_byte: 120_000,
  first_content: Number.POSITIVE_INFINITY,
  preamble: 5_000,
  idle: 60_000,
}
/** Those that fill a preset are left to plugins as well. */
const ENGINE_KEYS = new Set(Object.keys(UPSTREAM.schema.properties ?? {}))
for (const placeholder of ['region', 'resource', 'project']) ENGINE_KEYS.delete(placeholder)

const NO_POOL = { connect: 0, connections: 0 }
/** `url: NAME:`: the plugin of that name serves the upstream, inside the process. */
const INSIDE = /^([a-z][a-z0-9-]*):$/
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
  raw: UpstreamOptions,
  share: AcquireShared,
  listen?: ListenToHealth,
  credentials: readonly string[] = [],
): Upstream => {
  const options = UPSTREAM.read(raw)
  const { auth, headers, health, warm_up_request: request } = options
  let compiled: Upstream | undefined
  const probe = health.probe && createProber(health.probe, () => compiled)
  const keyOptions = readKeys(raw.key)
  const urls = urlsOf(options, keyOptions.length > 0)
  const inside = INSIDE.exec(urls[0] ?? '')?.[1]
  const deadlines = { ...DEADLINES, ...options.timeout }
  const openOrigin = createOpener(deadlines, options, share, listen)
  const origins = inside
    ? [{ origin: share(`inside ${name}`, '', () => new Origin(undefined, NO_POOL)), base: '' }]
    : urls.map(openOrigin)
  const keys = openKeys(keyOptions, auth, origins[0]?.origin, listen)
  compiled = {
    name,
    inside,
    origins,
    deadlines,
    warmUp: options.warm_up ? request && { ...request, listen } : undefined,
    health: {
      ...health,
      probe,
      ...(keys && keys.list.length > 1 && { restsKeys: true }),
    },
    set: headers.set,
    view: {
      ...(inside && { inside }),
      ...(options.title !== undefined && { title: options.title }),
      options: Object.fromEntries(
        Object.entries(raw).filter(([name]) => !ENGINE_KEYS.has(name)) as [string, Json][],
      ),
    },
    pass: createPassRule(headers.pass, credentials),
    keys,
    keyWait: options.key_wait,
    mask: maskOf(keyOptions, options),
    sign: createSigner(auth, keys),
  }
  return compiled
}
/** Names of headers whose values are credentials. */
const CREDENTIAL_HEADER = /auth|key|secret|credential/i
const maskOf = (keys: readonly ReadKey[], { headers }: UpstreamValues) => {
  const set = Object.entries(headers.set)
  const secrets = [
    ...keys.map(({ value }) => value),
    ...set.flatMap(([name, value]) => (CREDENTIAL_HEADER.test(name) ? [value] : [])),
  ]
  const mask = new CredentialMask(secrets.map(withoutScheme))
  return mask.isEmpty ? undefined : mask
}

const urlsOf = ({ url, provider }: UpstreamValues, hasKey: boolean): readonly string[] =>
  provider !== undefined && hasKey && INSIDE.test(url[0] ?? '') ? [provider] : url

const createOpener = (
  { connect }: Deadlines,
  options: UpstreamValues,
  share: AcquireShared,
  listen?: ListenToHealth,
) => {
  const { connections } = options
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
  keys: readonly ReadKey[],
  auth: UpstreamValues['auth'],
  origin: Origin | undefined,
  listen?: ListenToHealth,
): UpstreamKeys | undefined => {
  const place = placeOf(auth)
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
const connectionOf = ({ proxy, tls, http2 }: UpstreamValues): ConnectionOptions | undefined => {
  const isPlain = !proxy && tls === undefined && !http2
  return isPlain ? undefined : { proxy: proxy || undefined, tls, http2 }
}

/** For requests without a target. */
const NO_TARGET: Target = { upstream: '' }
const createSigner = (auth: UpstreamValues['auth'], keys: UpstreamKeys | undefined) => {
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
/** Where the key is sent, and what is before it. */
interface KeyPlace {
  readonly header?: string
  readonly query?: string
  readonly prefix?: string
}
/** Undefined where no key is sent. */
const placeOf = (auth: UpstreamValues['auth'] = 'bearer'): KeyPlace | undefined => {
  if (auth === 'none') return undefined
  if (auth === 'bearer') return { header: 'authorization', prefix: 'Bearer ' }
  const { scheme, header, query } = auth
  if (scheme !== undefined) return { header: 'authorization', prefix: `${scheme} ` }
  if (header !== undefined) return { header: header.toLowerCase() }
  return query === undefined ? undefined : { query }
}
/** Identifies a text where the text itself must not appear. */
const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12)
