/** Maps a client address to the network by which unauthenticated clients are counted. */
import ipaddr from 'ipaddr.js'

/** A /64 network counts as one client, since one IPv6 customer has 2^64 addresses. Returns other
 *  texts unchanged. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  if (ip.kind() === 'ipv4') return ip.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${ip.toString()}/64`).toString()
}
