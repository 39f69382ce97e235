/** Compiles the `upstreams:` section: origins with their pools, rotating keys, deadlines, headers
 *  that pass. */
import { createHash } from 'node:crypto'
import type { Document, Json, Plugin } from '../../plugin.ts'
import { createPassRule } from '../../response/headers.ts'
import type { SharedResources } from '../../snapshot/shared-resources.ts'
import { Origin } from '../../upstream/origin.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import type { CompileFault } from './compile-problem.ts'
import { parseDuration } from './units.ts'

/** As the schema of routes.yaml accepts it (config/schema.ts). */
export interface UpstreamOptions {
  readonly url: string | readonly string[]
  /** The address once there is a key, if `url` names a plugin. */
  readonly provider?: string
  readonly key?: string | readonly string[]
  readonly auth?: Auth
  readonly timeout?: Partial<Record<keyof Deadlines, string>>
  readonly connections?: number
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
const DEADLINES: Deadlines = { connect: 5_000, first_byte: 120_000, idle: 60_000 }
const ENGINE_KEYS = new Set([
  'url',
  'provider',
  'key',
  'auth',
  'timeout',
  'connections',
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
  shared: SharedResources,
  releases: (() => void)[],
  faults: CompileFault[],
): ReadonlyMap<string, Upstream> => {
  const section = (document.upstreams ?? {}) as unknown as Record<string, UpstreamOptions>
  const credentials = [...plugins.values()].flatMap(plugin => plugin.credentialHeaders ?? [])
  const upstreams = new Map<string, Upstream>()
  const share: AcquireShared = (key, version, create) => {
    const { value, release } = shared.acquire(key, version, create)
    releases.push(release)
    return value
  }
  for (const [name, options] of Object.entries(section))
    try {
      upstreams.set(name, compileUpstream(name, options, share, credentials))
    } catch {
      faults.push({
        where: ['upstreams', name, 'url'],
        code: 'UPSTREAM_ADDRESS',
        message: `the address of the upstream "${name}" is invalid; check its port (at most 65535) and brackets`,
      })
    }
  return upstreams
}

/** `credentials`: names of headers with credentials of clients, see `Plugin.credentialHeaders`. */
export const compileUpstream = (
  name: string,
  options: UpstreamOptions,
  share: AcquireShared,
  credentials: readonly string[] = [],
): Upstream => {
  const urls = urlsOf(options)
  const inside = INSIDE.exec(urls[0] ?? '')?.[1]
  const deadlines = readDeadlines(options.timeout, DEADLINES)
  return {
    name,
    inside,
    origins: inside
      ? [{ origin: share(`inside ${name}`, '', () => new Origin(undefined, NO_POOL)), base: '' }]
      : urls.map(url => openOrigin(url, deadlines, options.connections, share)),
    deadlines,
    health: {
      failures: options.health?.failures ?? 5,
      eject: parseDuration(options.health?.eject ?? '10s'),
    },
    set: options.headers?.set ?? {},
    view: {
      ...(inside && { inside }),
      options: Object.fromEntries(
        Object.entries(options).filter(([key]) => !ENGINE_KEYS.has(key)) as [string, Json][],
      ),
    },
    pass: createPassRule(options.headers?.pass ?? [], credentials),
    ...createSigner(options),
  }
}

const keysOf = ({ key }: UpstreamOptions): readonly string[] =>
  listOf(key).filter(each => each !== '')
const urlsOf = (options: UpstreamOptions): readonly string[] => {
  const { url, provider } = options
  const isProvided = provider !== undefined && keysOf(options).length > 0
  return isProvided && INSIDE.test(listOf(url)[0] ?? '') ? [provider] : listOf(url)
}

export const readDeadlines = (
  options: UpstreamOptions['timeout'],
  defaults: Deadlines,
): Deadlines => ({
  connect: options?.connect ? parseDuration(options.connect) : defaults.connect,
  first_byte: options?.first_byte ? parseDuration(options.first_byte) : defaults.first_byte,
  idle: options?.idle ? parseDuration(options.idle) : defaults.idle,
})

const openOrigin = (url: string, deadlines: Deadlines, connections = 128, share: AcquireShared) => {
  const { origin, pathname } = new URL(url)
  const version = `${deadlines.connect}/${connections}`
  const create = (): Origin => new Origin(origin, { connect: deadlines.connect, connections })
  return {
    origin: share(`origin ${origin}`, version, create),
    base: pathname.replace(/\/+$/, ''),
  }
}

type Signer = Pick<Upstream, 'sign' | 'nextKey'>
const UNSIGNED: Signer = { sign: (_, path) => path, nextKey: () => undefined }

const createSigner = (options: UpstreamOptions): Signer => {
  const { auth = 'bearer' } = options
  const keys = keysOf(options)
  if (keys.length === 0 || auth === 'none') return UNSIGNED
  const { header, query, prefix = '' } = placeOf(auth)
  let index = 0
  const values = keys.map(key => `${prefix}${key}`)
  const names = keys.map(nameOfKey)
  const pick = (name: string | undefined): string => {
    const at = name === undefined ? -1 : names.indexOf(name)
    return values[at >= 0 ? at : index++ % values.length] as string
  }
  const nextKey = (): string | undefined => names[index++ % names.length]
  if (header !== undefined)
    return {
      nextKey,
      sign: (headers, path, key) => {
        headers[header] = pick(key)
        return path
      },
    }
  return {
    nextKey,
    sign: (_, path, key) =>
      `${path}${path.includes('?') ? '&' : '?'}${query}=${encodeURIComponent(pick(key))}`,
  }
}
/** Where the key is sent, and what stands before it. */
interface KeyPlace {
  readonly header?: string
  readonly query?: string
  readonly prefix?: string
}
const placeOf = (auth: Exclude<Auth, 'none'>): KeyPlace => {
  if (auth === 'bearer') return { header: 'authorization', prefix: 'Bearer ' }
  if ('scheme' in auth) return { header: 'authorization', prefix: `${auth.scheme} ` }
  return 'header' in auth ? { header: auth.header.toLowerCase() } : auth
}
/** Identifies a key where the key itself must not stand. */
const nameOfKey = (key: string): string =>
  createHash('sha256').update(key).digest('hex').slice(0, 12)
