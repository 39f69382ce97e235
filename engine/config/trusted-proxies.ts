/** The address of a client behind proxies of the operator, by `settings.trusted_proxies`. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export interface TrustedProxies {
  /** `peer`: address of the connection. A header counts only if a trusted proxy sent it. */
  clientAddress(peer: string, forwardedFor: string | undefined): string
}
type Address = ReturnType<typeof ipaddr.process>
type Network = ReturnType<typeof ipaddr.parseCIDR>

/** Throws for a text that is not a network: `10.0.0.0/8`, `::1/128` or one address. */
export const parseNetwork = (text: string): Network => {
  const [host = ''] = text.split('/', 1)
  // The parser takes short forms of IPv4, which would be another network than meant.
  if (isIP(host) === 0) throw new Error(`${host} is not an address`)
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

export const createTrustedProxies = (networks: readonly Network[]): TrustedProxies => {
  const isTrusted = (address: Address): boolean =>
    networks.some(network => network[0].kind() === address.kind() && address.match(network))
  return {
    clientAddress(peer, forwardedFor) {
      if (networks.length === 0 || forwardedFor === undefined) return peer
      let client = addressOf(peer)
      if (!client) return peer
      // Each proxy appends its peer: the entries of trusted proxies are read from the right.
      for (const entry of forwardedFor.split(',').toReversed()) {
        if (!isTrusted(client)) break
        const next = addressOf(entry.trim())
        if (!next) break
        client = next
      }
      return client.toString()
    },
  }
}

/** Some proxies add a port, and brackets. An IPv4 address in IPv6 becomes plain. */
const addressOf = (text: string): Address | undefined => {
  const plain = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1')
  return ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined
}
