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
  readonly key?: string | readonly string[]
  readonly auth?: 'bearer' | 'none' | { readonly header: string } | { readonly query: string }
  readonly timeout?: Partial<Record<keyof Deadlines, string>>
  readonly connections?: number
  readonly headers?: {
    readonly pass?: readonly string[]
    readonly set?: Readonly<Record<string, string>>
  }
  readonly health?: { readonly failures?: number; readonly eject?: string }
  readonly [plugin: string]: unknown
}
const DEADLINES: Deadlines = { connect: 5_000, first_byte: 120_000, idle: 60_000 }
const ENGINE_KEYS = new Set(['url', 'key', 'auth', 'timeout', 'connections', 'headers', 'health'])

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
  const urls = listOf(options.url)
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

const createSigner = ({ key, auth = 'bearer' }: UpstreamOptions): Signer => {
  const keys = listOf(key).filter(each => each !== '')
  if (keys.length === 0 || auth === 'none') return UNSIGNED
  let index = 0
  const values = auth === 'bearer' ? keys.map(key => `Bearer ${key}`) : keys
  const names = keys.map(nameOfKey)
  const pick = (name: string | undefined): string => {
    const at = name === undefined ? -1 : names.indexOf(name)
    return values[at >= 0 ? at : index++ % values.length] as string
  }
  const nextKey = (): string | undefined => names[index++ % names.length]
  if (auth === 'bearer')
    return {
      nextKey,
      sign: (headers, path, key) => {
        headers.authorization = pick(key)
        return path
      },
    }
  if ('header' in auth)
    return {
      nextKey,
      sign: (headers, path, key) => {
        headers[auth.header.toLowerCase()] = pick(key)
        return path
      },
    }
  return {
    nextKey,
    sign: (_, path, key) =>
      `${path}${path.includes('?') ? '&' : '?'}${auth.query}=${encodeURIComponent(pick(key))}`,
  }
}
/** Identifies a key where the key itself must not stand. */
const nameOfKey = (key: string): string =>
  createHash('sha256').update(key).digest('hex').slice(0, 12)
