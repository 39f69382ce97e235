/** Whom an address stands for, where it is counted what strangers do. */
import ipaddr from 'ipaddr.js'

/** One household has 2^64 addresses of version 6: its network counts as one client. What is no address is itself. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}
