/** Decides which addresses a customer's URL may reach: as text, resolved, connected. */
import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { buildConnector } from 'undici'
import { errors } from '../errors.ts'
import { endpointOf } from '../http-client/connect.ts'

const fault = errors({
  EGRESS_URL: [400, 'This URL cannot be reached from here: %s.'],
  EGRESS_ADDRESS: [
    400,
    '%s is not a public address; an operator can allow it: settings.egress_allow.',
  ],
  EGRESS_NAME: [400, 'The name %s cannot be resolved.'],
})

export interface Egress {
  /** Returns the canonical URL, or throws a fault. Does not resolve the name. */
  checkUrl(url: string | URL): URL
  /** As `checkUrl`, and resolves the name: every address of it must be allowed. */
  checkResolvedUrl(url: string): Promise<string>
  /** Makes a connector that opens sockets to allowed addresses only. */
  guard(connect: Connector): Connector
}
export type Connector = buildConnector.connector
export interface EgressOptions {
  /** Resolves every address of a name. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
}

const PORTS: ReadonlySet<number> = new Set([80, 443, 8443])
const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:'])
/** Maximum number of addresses of one name that are tried in turn. */
const TRIES = 3

type Address = ipaddr.IPv4 | ipaddr.IPv6
interface AllowRule {
  readonly network: readonly [Address, number]
  readonly port: number | undefined
}

/** `allow`: further networks, `127.0.0.1:9000 10.0.0.0/8 [fd00::/8]:8443`. */
export const createEgress = (allow: string, options: EgressOptions = {}): Egress => {
  const list = readAllow(allow)
  const resolveName = options.resolve ?? lookupAll
  const check = (text: string, port: number): void => {
    if (!mayReach(text, port, list)) throw fault('EGRESS_ADDRESS', [text])
  }
  const open = (connect: Connector, options: buildConnector.Options, port: number) =>
    new Promise<Socket>((resolve, reject) => {
      check(options.hostname, port)
      connect(options, (error, socket) => {
        if (error) return reject(error)
        try {
          check(socket.remoteAddress ?? '', port)
          resolve(socket)
        } catch (cause) {
          socket.destroy()
          reject(cause)
        }
      })
    })
  const resolveAll = async (host: string, port: number): Promise<readonly string[]> => {
    const addresses = isIP(host) ? [host] : await resolveName(host)
    // One forbidden address refuses the name: the next DNS answer may have only that one.
    for (const address of addresses) check(address, port)
    return addresses
  }
  const dial = async (connect: Connector, options: buildConnector.Options): Promise<Socket> => {
    const { hostname: host, protocol, port: portText } = options
    const secure = protocol === 'https:'
    const port = Number(portText) || (secure ? 443 : 80)
    let last: unknown = fault('EGRESS_NAME', [host])
    // Connects to the checked address, never to the name; the certificate is that of the name.
    const { servername: _, ...rest } = options
    const target = secure && !isIP(host) ? { ...rest, servername: host } : rest
    for (const address of (await resolveAll(host, port)).slice(0, TRIES)) {
      try {
        return await open(connect, { ...target, hostname: address }, port)
      } catch (error) {
        last = error
      }
    }
    throw last
  }
  return {
    checkUrl: url => parseAllowedUrl(url, list),
    async checkResolvedUrl(text) {
      const url = parseAllowedUrl(text, list)
      const { host, port } = endpointOf(url)
      const addresses = await resolveAll(host, port)
      if (addresses.length === 0) throw fault('EGRESS_NAME', [host])
      return url.href
    },
    guard: connect => (options, callback) => {
      dial(connect, options).then(
        socket => callback(null, socket),
        error => callback(error, null),
      )
    },
  }
}

const lookupAll = async (name: string): Promise<readonly string[]> => {
  const records = await lookup(name, { all: true }).catch(cause => {
    throw fault('EGRESS_NAME', [name], { cause })
  })
  return records.map(({ address }) => address)
}

/** Checks after `new URL`, which has turned `0x7f.1` and `①②⑦.0.0.1` into addresses. */
const parseAllowedUrl = (input: string | URL, list: readonly AllowRule[]): URL => {
  const urlFault = (why: string) => fault('EGRESS_URL', [why])
  if (!URL.canParse(String(input))) throw urlFault('it is not a URL')
  const url = new URL(String(input))
  if (!SCHEMES.has(url.protocol)) throw urlFault('only http and https are supported')
  if (url.username !== '' || url.password !== '') throw urlFault('it contains a credential')
  const { host, port } = endpointOf(url)
  if (isIP(host)) {
    if (!mayReach(host, port, list)) throw fault('EGRESS_ADDRESS', [host])
  } else if (!PORTS.has(port) && !list.some(entry => portFits(entry, port)))
    throw urlFault(`port ${port} is not allowed`)
  url.hash = ''
  return url
}

const portFits = (entry: AllowRule, port: number): boolean =>
  entry.port === undefined || entry.port === port

/** Whether an address is public at a usual port, or allowed by the operator. */
export const mayReach = (text: string, port: number, list: readonly AllowRule[] = []): boolean => {
  if (!ipaddr.isValid(text) || text.includes('%')) return false
  const address = ipaddr.process(text) // ::ffff:a.b.c.d is a.b.c.d
  const isListed = list.some(entry => portFits(entry, port) && within(address, entry.network))
  return isListed || (PORTS.has(port) && isGlobal(address))
}
const within = (address: Address, [network, bits]: AllowRule['network']): boolean =>
  address.kind() === network.kind() && address.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits)
/** Beside the special ranges, no IPv6 address outside 2000::/3 is assigned (RFC 4291 §2.4);
 *  addresses mapped, tunnelled or translated from IPv4 (6to4, Teredo, NAT64) are special ranges. */
const isGlobal = (address: Address): boolean =>
  address.range() === 'unicast' &&
  (address instanceof ipaddr.IPv4 || address.match(ipaddr.IPv6.parse('2000::'), 3))

/** `10.0.0.0/8`, `127.0.0.1:9000`, `fd00::/8`, `[fd00::/8]:8443`; commas or spaces between them. */
const ENTRY =
  /^(?:\[([0-9a-f:.]+(?:\/\d+)?)\]|([0-9.]+(?:\/\d+)?)|([0-9a-f:]+(?:\/\d+)?))(?::(\d+))?$/i
export const readAllow = (text: string): readonly AllowRule[] =>
  text
    .split(/[\s,]+/)
    .filter(entry => entry !== '')
    .map(readEntry)

const readEntry = (entry: string): AllowRule => {
  const [, inBrackets, four, six, port] = ENTRY.exec(entry) ?? []
  const network = inBrackets ?? four ?? six ?? ''
  const number = port === undefined ? undefined : Number(port)
  const whole = ipaddr.isValid(network)
  const cidr = ipaddr.isValidCIDR(network)
  if ((!whole && !cidr) || (number !== undefined && (number < 1 || number > 65_535)))
    throw new RangeError(
      `"${entry}" is neither an address nor a network, such as 127.0.0.1:9000, 10.0.0.0/8 or [fd00::/8]:8443`,
    )
  const address = whole ? ipaddr.process(network) : undefined
  const bits = address?.kind() === 'ipv4' ? 32 : 128
  return { network: address ? [address, bits] : ipaddr.parseCIDR(network), port: number }
}
