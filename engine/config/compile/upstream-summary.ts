/** Where each upstream leads, and what is missing in it, for the banner and `tollgate check`. */
import { isFields } from '../../kit.ts'
import type { Document, Json } from '../../plugin.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { type KeyOptions, readKeys } from './keys.ts'

export interface UpstreamSummary {
  readonly name: string
  /** The plugin that answers inside the process. */
  readonly inside?: string
  /** Host names of its addresses; none for an upstream inside the process. */
  readonly hosts: readonly string[]
  /** A missing key or address: the gateway runs, but probably not as intended. */
  readonly warning?: string
}

export const summarizeUpstreams = (
  document: Document,
  upstreams: ReadonlyMap<string, Upstream>,
): readonly UpstreamSummary[] =>
  [...upstreams].map(([name, { inside, origins }]) => {
    const options = optionsOf(document, name)
    const hosts = [...new Set(origins.flatMap(({ origin }) => hostOf(origin.address) ?? []))]
    const warning = inside
      ? addressWarning(name, options, inside)
      : keyWarning(name, options, hosts)
    return { name, hosts, ...(inside && { inside }), ...(warning !== undefined && { warning }) }
  })

/** One line for each upstream with a warning. */
export const warningsIn = (summaries: readonly UpstreamSummary[]): readonly string[] =>
  summaries.flatMap(({ warning }) => warning ?? [])

type Fields = { readonly [key: string]: Json }
const optionsOf = ({ upstreams }: Document, name: string): Fields => {
  const options = isFields(upstreams) ? upstreams[name] : undefined
  return isFields(options) ? options : {}
}
const hostOf = (address: string | undefined): string | undefined =>
  address === undefined ? undefined : URL.parse(address)?.host

const addressWarning = (name: string, options: Fields, inside: string): string | undefined =>
  hasKey(options)
    ? `upstream "${name}" has a key but no address, so \`${inside}:\` answers; set its \`url\``
    : undefined

const keyWarning = (name: string, options: Fields, hosts: readonly string[]): string | undefined =>
  hasKey(options) || !needsKey(options, hosts)
    ? undefined
    : `upstream "${name}" has an address but no key; set its \`key\`, or \`auth: none\` if it needs none`

const hasKey = ({ key }: Fields): boolean =>
  readKeys((key ?? undefined) as KeyOptions | undefined).length > 0

/** Servers of one's own need a key only if the configuration names one. */
const needsKey = ({ auth, key, preset, headers }: Fields, hosts: readonly string[]): boolean => {
  const isPlain =
    typeof auth !== 'object' || PLAIN_AUTH.some(name => Object.hasOwn(auth ?? {}, name))
  if (auth === 'none' || !isPlain || setsCredential(headers)) return false
  return key !== undefined || preset !== undefined || hosts.some(isPublicName)
}
/** The kinds of `auth` that send `key`; others have credentials of their own. */
const PLAIN_AUTH = ['header', 'query', 'scheme']

const setsCredential = (headers: Json | undefined): boolean => {
  const set = isFields(headers) && isFields(headers.set) ? headers.set : {}
  return Object.keys(set).some(name => /^authorization$|key/i.test(name))
}

/** Whether a host is neither an IP address nor a name of the local network. */
const isPublicName = (host: string): boolean => /\.[a-z-]{2,}(:\d+)?$/i.test(host) && !isLocal(host)
const isLocal = (host: string): boolean =>
  /\.(local|internal|lan|test|example|svc)(:\d+)?$/i.test(host)
