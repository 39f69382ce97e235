/** Checks what `settings:` says of addresses and of the listener: its certificate, the proxies that
 *  it trusts, and where URLs of customers may lead. */
import { createSecureContext } from 'node:tls'
import { createEgress, type Egress } from '../../egress/egress.ts'
import type { Settings } from '../settings.ts'
import { createTrustedProxies, parseNetwork, type TrustedProxies } from '../trusted-proxies.ts'
import { type CompileFault, describeError } from './compile-problem.ts'

export const compileListener = (
  { tls, trusted_proxies: texts }: Settings,
  faults: CompileFault[],
): TrustedProxies => {
  if (tls) checkCertificate(tls, faults)
  const networks = texts.flatMap((text, index) => {
    try {
      return [parseNetwork(text)]
    } catch {
      const message = `"${text}" is not a network; write it like 10.0.0.0/8 or 192.0.2.7`
      faults.push({ where: ['settings', 'trusted_proxies', index], code: 'BAD_NETWORK', message })
      return []
    }
  })
  return createTrustedProxies(networks)
}

const checkCertificate = (tls: NonNullable<Settings['tls']>, faults: CompileFault[]): void => {
  try {
    createSecureContext(tls)
  } catch (error) {
    const { message } = error as Error
    const text = `the listener cannot use this certificate and key (${message}); both are PEM, and the key is that of the first certificate`
    faults.push({ where: ['settings', 'tls'], code: 'TLS_CERTIFICATE', message: text })
  }
}

export const openEgress = (allow: string, faults: CompileFault[]): Egress => {
  try {
    return createEgress(allow)
  } catch (error) {
    faults.push({ where: ['settings', 'egress_allow'], ...describeError(error, 'EGRESS_ALLOW') })
    return createEgress('')
  }
}
