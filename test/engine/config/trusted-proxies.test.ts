/** Trusted proxies: the client's address from X-Forwarded-For, read from the right. */
import t from 'tap'
import { createTrustedProxies, parseNetwork } from '../../../engine/config/trusted-proxies.ts'

const proxies = createTrustedProxies(
  ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7', '2001:db9::7'].map(parseNetwork),
)

t.test('trusted proxies: the entry before the last trusted proxy is the client', async t => {
  t.equal(proxies.clientAddress('10.0.0.1', '203.0.113.7'), '203.0.113.7')
  t.equal(proxies.clientAddress('::ffff:10.0.0.1', '1.1.1.1, 203.0.113.7, 10.9.9.9'), '203.0.113.7')
  t.equal(proxies.clientAddress('2001:db8::1', '[2001:4860::8888]:4711'), '2001:4860::8888')
  t.equal(proxies.clientAddress('2001:db9::7', '203.0.113.7'), '203.0.113.7')
  t.equal(proxies.clientAddress('192.0.2.7', '203.0.113.7:1234'), '203.0.113.7')
  t.equal(proxies.clientAddress('10.0.0.1', '10.0.0.2'), '10.0.0.2', 'only proxies')
})

t.test('trusted proxies: headers of other peers, and nonsense, are ignored', async t => {
  t.equal(proxies.clientAddress('203.0.113.9', '10.0.0.1'), '203.0.113.9')
  t.equal(proxies.clientAddress('192.0.2.8', '1.1.1.1'), '192.0.2.8')
  t.equal(proxies.clientAddress('10.0.0.1', 'unknown'), '10.0.0.1')
  t.equal(proxies.clientAddress('10.0.0.1', '1.1.1.1, unknown'), '10.0.0.1')
  t.equal(proxies.clientAddress('10.0.0.1', undefined), '10.0.0.1')
  t.equal(proxies.clientAddress('/run/gateway.sock', '1.1.1.1'), '/run/gateway.sock')
  const none = createTrustedProxies([])
  t.equal(none.clientAddress('10.0.0.1', '1.1.1.1'), '10.0.0.1')
})

t.test('trusted proxies: a text that is not a network is refused', async t => {
  for (const text of ['10.0.0.0/33', 'proxy', '10.0.0', ''])
    t.throws(() => parseNetwork(text), text)
})
