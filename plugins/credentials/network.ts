/** Maps a client address to the network by which unauthenticated clients are counted. */
import ipaddr from 'ipaddr.js'

/** One IPv6 customer has 2^64 addresses: a /64 network counts as one client. Returns other texts unchanged. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}
