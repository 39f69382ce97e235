/** Finds proxies and certificates of an upstream that no connection can use, and warm-ups without a
 *  request. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { ConnectionOptions } from '../../egress/connector.ts'
import type { CompileFault } from './compile-problem.ts'

export const findConnectionFaults = (
  name: string,
  { proxy, tls, warm_up: warmsUp, warm_up_request: request }: ConnectionOptions & WarmUpOptions,
): readonly CompileFault[] => {
  const faults: CompileFault[] = []
  if (proxy && !isProxy(proxy))
    faults.push({
      where: ['upstreams', name, 'proxy'],
      code: 'UPSTREAM_PROXY',
      message: `the proxy of the upstream "${name}" is invalid; check its port (at most 65535), and write % in its user and password as %25`,
    })
  const reason = tls && tlsFault(tls)
  if (reason !== undefined)
    faults.push({
      where: ['upstreams', name, 'tls'],
      code: 'UPSTREAM_TLS',
      message: `the certificates of the upstream "${name}" cannot be used (${reason}); ca, cert and key are texts in PEM format, and key is that of cert`,
    })
  if (warmsUp === true && request === undefined)
    faults.push({
      where: ['upstreams', name, 'warm_up'],
      code: 'UPSTREAM_WARM_UP',
      message: `nothing says how the upstream "${name}" is warmed up; add warm_up_request, or use a preset that has one`,
    })
  return faults
}
interface WarmUpOptions {
  readonly warm_up?: boolean
  readonly warm_up_request?: object
}

const isProxy = (proxy: string): boolean => {
  try {
    const { username, password } = new URL(proxy)
    return decodeURIComponent(username + password) !== undefined
  } catch {
    return false
  }
}

const CERTIFICATE = /-----BEGIN [A-Z ]*CERTIFICATE-----[^-]*(?:-----END [A-Z ]*CERTIFICATE-----)?/g
/** Node ignores authorities that it cannot read. */
const tlsFault = (tls: NonNullable<ConnectionOptions['tls']>): string | undefined => {
  try {
    for (const text of `${tls.ca ?? ''}${tls.cert ?? ''}`.match(CERTIFICATE) ?? [])
      new X509Certificate(text)
    createSecureContext(tls)
    return undefined
  } catch (error) {
    // "error:0480006C:PEM routines::no start line"
    return (error as Error).message.split(':').at(-1)
  }
}
