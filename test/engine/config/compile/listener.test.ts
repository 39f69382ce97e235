/** Addresses and the listener's certificate in `settings:`: each fault has its place. */
import t from 'tap'
import type { CompileFault } from '../../../../engine/config/compile/compile-problem.ts'
import { compileListener, openEgress } from '../../../../engine/config/compile/listener.ts'
import { readSettings } from '../../../../engine/config/settings.ts'

t.test('listener: a certificate that cannot be used, and texts that are not networks', async t => {
  const faults: CompileFault[] = []
  const tls = { cert: 'no PEM', key: 'no PEM' }
  const settings = readSettings({ tls, trusted_proxies: ['10.0.0.0/8', 'proxy'] }, {})
  const proxies = compileListener(settings, faults)
  t.match(faults, [
    { where: ['settings', 'tls'], code: 'TLS_CERTIFICATE', message: /both are PEM/ },
    { where: ['settings', 'trusted_proxies', 1], code: 'BAD_NETWORK', message: /"proxy" is no/ },
  ])
  t.equal(proxies.clientAddress('10.0.0.1', '203.0.113.7'), '203.0.113.7', 'others are trusted')
})

t.test('egress: a text that is not a list of networks allows nothing', async t => {
  const faults: CompileFault[] = []
  openEgress('not a network', faults)
  t.match(faults, [{ where: ['settings', 'egress_allow'], message: /"not" is neither an address/ }])
})
