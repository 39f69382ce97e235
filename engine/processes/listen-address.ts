/** Addresses to listen on: as they are written, and as a person is told of them. */

/** `127.0.0.1:8080`, `[::1]:8080`, `:8080` (every interface), `8080`. */
export const splitAddress = (written: string): { readonly host: string; readonly port: number } => {
  const colon = written.lastIndexOf(':')
  const host = written.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, '')
  return { host: colon < 0 ? '127.0.0.1' : host || '::', port: Number(written.slice(colon + 1)) }
}

/** What another program of this machine connects to. */
export const urlOf = (host: string, port: number): string => {
  const local = EVERYWHERE[host] ?? host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Why nobody can listen there, in one sentence with the way out. `setting`: where the address stands in routes.yaml. */
export const cannotListen = (
  written: string,
  { code, message }: NodeJS.ErrnoException,
  setting = 'listen',
): string =>
  `${written} ${REASONS[code ?? ''] ?? `cannot be listened on (${message})`}; change settings.${setting}`
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'needs rights this program does not have',
}
