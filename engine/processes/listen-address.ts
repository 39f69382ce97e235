/** Listen addresses: parsing, URLs for other programs, and messages for bind errors. */
import { isIP } from 'node:net'

/** `127.0.0.1:8080`, `[::1]:8080`, `:8080` (every interface), `8080`. */
export const parseListenAddress = (
  address: string,
): { readonly host: string; readonly port: number } => {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, '')
  return { host: colon < 0 ? '127.0.0.1' : host || '::', port: Number(address.slice(colon + 1)) }
}

/** Whether only programs on this machine reach the host. */
export const isLoopback = (host: string): boolean =>
  /^localhost$/i.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** URL for clients on this machine. */
export const localUrl = (host: string, port: number, scheme = 'http'): string => {
  const local = WILDCARDS[host] ?? host
  return `${scheme}://${local.includes(':') ? `[${local}]` : local}:${port}`
}
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Describes a bind error with the remedy. `setting`: name under `settings` in routes.yaml. */
export const describeBindError = (
  address: string,
  { code, message }: NodeJS.ErrnoException,
  setting = 'listen',
): string =>
  `${address} ${REASONS[code ?? ''] ?? `cannot be bound (${message})`}; ${wayOut(address, code, setting)}`
const wayOut = (address: string, code: string | undefined, setting: string): string => {
  const { variable, note } = VARIABLES[setting] ?? {}
  if (variable === undefined) return `change settings.${setting}`
  if (code !== 'EADDRINUSE') return `change settings.${setting} (as shipped, ${note})`
  const { port } = parseListenAddress(address)
  const other = port < 65_535 ? port + 1 : port - 1
  return `choose another port: start with ${variable}=${other}, or change settings.${setting} (as shipped, ${note})`
}
const VARIABLES: Readonly<Record<string, { readonly variable: string; readonly note: string }>> = {
  listen: { variable: 'PORT', note: 'it is read from HOST and PORT' },
  admin: { variable: 'ADMIN_PORT', note: 'its port is read from ADMIN_PORT' },
}
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EADDRNOTAVAIL: 'is not an address of this machine',
  EACCES: 'needs privileges that this program does not have',
}
