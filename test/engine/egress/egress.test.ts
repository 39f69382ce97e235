/** Customer URLs reach public addresses only, in any spelling and with any DNS answer. */
import { BlockList, createServer, isIPv4, type Server } from 'node:net'
import t, { type Test } from 'tap'
import { buildConnector, Client } from 'undici'
import { sendDirect } from '../../../engine/egress/direct-send.ts'
import { createEgress, mayReach, readAllow } from '../../../engine/egress/egress.ts'
import type { Snapshot } from '../../../engine/snapshot/snapshot.ts'
import { startReceiver, trustReceivers } from '../../helpers/money/receiver.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const numRuns = shortOrLong(5_000, 1_000_000)

/** Addresses that are not global, independent of the library: IANA's special registries, RFC 6890
 *  and later. */
// Two lists: Node's BlockList matches every IPv4 address with ::/3.
const nonGlobal = { ipv4: new BlockList(), ipv6: new BlockList() }
const FOUR =
  '0/8 10/8 100.64/10 127/8 169.254/16 172.16/12 192.0.0/24 192.0.2/24 192.31.196/24 192.52.193/24 192.88.99/24 192.168/16 192.175.48/24 198.18/15 198.51.100/24 203.0.113/24 224/4 240/4'
for (const network of FOUR.split(' ')) {
  const [address = '', bits] = network.split('/')
  nonGlobal.ipv4.addSubnet(
    [...address.split('.'), 0, 0, 0].slice(0, 4).join('.'),
    Number(bits),
    'ipv4',
  )
}
// All of IPv6 outside 2000::/3, and the special ranges within it.
for (const network of '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'.split(
  ' ',
)) {
  const [address = '', bits] = network.split('/')
  nonGlobal.ipv6.addSubnet(address, Number(bits), 'ipv6')
}
const isNonGlobal = (address: string): boolean => {
  const mappedAddress = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mappedAddress) return nonGlobal.ipv4.check(mappedAddress, 'ipv4')
  const kind = isIPv4(address) ? 'ipv4' : 'ipv6'
  return nonGlobal[kind].check(address, kind)
}

t.test('egress: agrees with the IANA registries on any address', async t => {
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224))
  const four = fc.tuple(byte, byte, byte, byte).map(bytes => bytes.join('.'))
  const group = fc.oneof(
    fc.nat(0xffff),
    fc.constantFrom(0, 0x2001, 0x2002, 0xfe80, 0xff9b, 0x64, 0xffff),
  )
  const first = fc.oneof(group, fc.integer({ min: 0x2000, max: 0x3fff }))
  const six = fc
    .tuple(first, group, group, group, group, group, group, group)
    .map(groups => groups.map(each => each.toString(16)).join(':'))
  const address = fc.oneof(
    four,
    six,
    four.map(each => `::ffff:${each}`),
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(address, each => mayReach(each, 443) === !isNonGlobal(each)),
      { numRuns },
    ),
  )
})

t.test('egress: refuses IPv6 addresses that contain a private IPv4 address', async t => {
  for (const address of [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '2002:7f00:1::',
    '2001:0:4136:e378:8000:63bf:80ff:fffe',
    'fe80::1%eth0',
    'fec0::1',
    '::',
    '::1',
    'ff02::1',
    'fd00::1',
    '127.0.0.1%1',
    '0177.0.0.1',
    '',
    'localhost',
  ])
    t.equal(mayReach(address, 443), false, address)
  for (const address of ['1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])
    t.equal(mayReach(address, 443), true, address)
  t.equal(mayReach('1.1.1.1', 22), false, 'a port outside 80, 443 and 8443')
})

t.test('EGRESS_ALLOW: allows addresses and networks, with or without a port', async t => {
  const list = readAllow('127.0.0.1:9000, 10.1.0.0/16 [fd00::/8]:8443\n::1 192.168.1.1')
  const reach = (address: string, port: number) => mayReach(address, port, list)
  t.equal(reach('127.0.0.1', 9_000), true)
  t.equal(reach('::ffff:127.0.0.1', 9_000), true)
  t.equal(reach('127.0.0.1', 9_001), false)
  t.equal(reach('127.0.0.2', 9_000), false)
  t.equal(reach('10.1.2.3', 1), true)
  t.equal(reach('10.2.2.3', 80), false)
  t.equal(reach('fd12::1', 8_443), true)
  t.equal(reach('fd12::1', 443), false)
  t.equal(reach('::1', 5), true)
  for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.1:0', '10.0.0.1:70000', '[::1', 'x'])
    t.throws(() => readAllow(wrong), { message: /is neither an address nor a network/ }, wrong)
})

t.test('egress: checks the text of a URL', async t => {
  const { checkUrl: check } = createEgress('127.0.0.1:9000')
  for (const [url, code] of [
    ['no url', 'EGRESS_URL'],
    ['ftp://example.com/', 'EGRESS_URL'],
    ['file:///etc/passwd', 'EGRESS_URL'],
    ['https://user:pass@example.com/', 'EGRESS_URL'],
    ['https://example.com:22/', 'EGRESS_URL'],
    ['http://127.1/', 'EGRESS_ADDRESS'],
    ['http://0x7f000001/', 'EGRESS_ADDRESS'],
    ['http://017700000001/', 'EGRESS_ADDRESS'],
    ['http://2130706433/', 'EGRESS_ADDRESS'],
    ['http://①②⑦.0.0.1/', 'EGRESS_ADDRESS'],
    ['http://[::ffff:7f00:1]/', 'EGRESS_ADDRESS'],
    ['http://169.254.169.254/latest/meta-data/', 'EGRESS_ADDRESS'],
    ['http://[fd00:ec2::254]/', 'EGRESS_ADDRESS'],
    ['http://127.0.0.1:9001/', 'EGRESS_ADDRESS'],
  ] as const)
    t.throws(() => check(url), { code, status: 400 }, url)
  for (const [url, canonical] of [
    ['https://EXAMPLE.com:443/a?b#c', 'https://example.com/a?b'],
    ['http://1.1.1.1', 'http://1.1.1.1/'],
    ['http://127.0.0.1:9000/x', 'http://127.0.0.1:9000/x'],
    ['http://hook.test:9000/', 'http://hook.test:9000/'],
  ] as const)
    t.equal(check(url).href, canonical)
})

t.test('egress: checks every address of a name', async t => {
  const names: Record<string, string[]> = {
    'public.test': ['1.1.1.1', '2606:4700::1111'],
    'mixed.test': ['1.1.1.1', '10.0.0.1'],
    'translated.test': ['64:ff9b::7f00:1'],
    'tunnelled.test': ['2002:7f00:1::'],
    'localhost.': ['127.0.0.1'],
    'nothing.test': [],
  }
  const { checkResolvedUrl: checkResolved } = createEgress('', {
    resolve: async name => names[name] ?? [],
  })
  t.equal(
    await checkResolved('https://PUBLIC.test:443/a?token=b#c'),
    'https://public.test/a?token=b',
  )
  t.equal(await checkResolved('https://1.1.1.1/'), 'https://1.1.1.1/')
  for (const [url, code] of [
    ['https://mixed.test/', 'EGRESS_ADDRESS'],
    ['https://translated.test/', 'EGRESS_ADDRESS'],
    ['https://tunnelled.test/', 'EGRESS_ADDRESS'],
    ['https://localhost./', 'EGRESS_ADDRESS'],
    ['https://nothing.test/', 'EGRESS_NAME'],
    ['https://public.test:22/', 'EGRESS_URL'],
    ['https://127.1/', 'EGRESS_ADDRESS'],
  ] as const)
    await t.rejects(checkResolved(url), { code, status: 400 }, url)
})

const listen = async (t: Test): Promise<{ server: Server; port: number; count(): number }> => {
  let count = 0
  const server = createServer(socket => {
    count++
    socket.on('error', () => {})
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { server, port: (server.address() as { port: number }).port, count: () => count }
}
const ask = async (url: string, egress: ReturnType<typeof createEgress>): Promise<string> => {
  const connect = egress.guard(buildConnector({ allowH2: false }))
  const client = new Client(new URL(url).origin, { connect })
  try {
    return await (await client.request({ method: 'GET', path: '/' })).body.text()
  } finally {
    await client.destroy()
  }
}

t.test('egress: connects to no forbidden address, in any spelling or by any name', async t => {
  const { port, count } = await listen(t)
  // The port is allowed for names: only the address is checked here.
  const allow = `203.0.113.7:${port}`
  const names: Record<string, string[]> = {
    'private.test': ['127.0.0.1'],
    'mixed.test': ['203.0.113.7', '127.0.0.1'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'nothing.test': [],
  }
  const egress = createEgress(allow, { resolve: async name => names[name] ?? ['127.0.0.1'] })
  const hosts = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '[::ffff:127.0.0.1]',
    'localhost',
    'localhost.',
  ]
  for (const host of [...hosts, ...Object.keys(names)])
    await t.rejects(ask(`http://${host}:${port}`, egress), { code: /^EGRESS_/ }, host)
  t.equal(count(), 0)
})

t.test('egress: connects to the checked address when a name changes', async t => {
  const { port, count } = await listen(t)
  const answers = [['127.0.0.1'], ['127.0.0.2']]
  let lookups = 0
  const resolve = async () => answers[Math.min(lookups++, 1)] ?? []
  const egress = createEgress(`127.0.0.1:${port}`, { resolve })
  t.equal(await ask(`http://hook.test:${port}`, egress), 'hi')
  t.equal(lookups, 1, 'resolved once for the check and the connection')
  await t.rejects(ask(`http://hook.test:${port}`, egress), { code: 'EGRESS_ADDRESS' })
  t.equal(count(), 1)
})

/** Requests through the guarded client, as plugins send them. */
const sender = (egress: ReturnType<typeof createEgress>) => {
  const snapshot = { egress, upstreams: new Map() } as unknown as Snapshot
  return async (url: string): Promise<string> => {
    const reply = await sendDirect(snapshot, 'public', { method: 'GET', path: url })
    return Buffer.from(await reply.bytes(100)).toString()
  }
}

t.test(
  'DNS rebinding: a name that changes between check and connect reaches no private address',
  async t => {
    const trap = await listen(t)
    // Every DNS answer has another address: the checked one is not the one of the next answer.
    for (const first of [0, 1]) {
      let lookups = first
      const egress = createEgress(`127.0.0.2:${trap.port}`, {
        resolve: async () => [lookups++ % 2 === 0 ? '127.0.0.2' : '127.0.0.1'],
      })
      const send = sender(egress)
      for (let n = 0; n < 20; n++) {
        const url = `http://hook.test:${trap.port}/`
        await egress.checkResolvedUrl(url).catch(() => {})
        // No server listens on 127.0.0.2, and the trap listens on 127.0.0.1 only.
        await t.rejects(send(url), { code: /^(?:EGRESS_ADDRESS|TARGET_UNREACHABLE)$/ })
      }
    }
    t.equal(trap.count(), 0)
  },
)

t.test(
  'DNS rebinding: a name that changes every 2 ms reaches the allowed address only',
  async t => {
    const trap = await listen(t)
    let openConnections = 0
    const open = createServer(socket => {
      openConnections++
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nopen'))
    })
    await new Promise<void>(resolve => open.listen(trap.port, '127.0.0.2', resolve))
    t.teardown(() => open.close())
    const address = () => (Math.floor(performance.now() / 2) % 2 === 0 ? '127.0.0.2' : '127.0.0.1')
    const egress = createEgress(`127.0.0.2:${trap.port}`, { resolve: async () => [address()] })
    const send = sender(egress)
    const url = `http://hook.test:${trap.port}/`
    let [successes, refusals] = [0, 0]
    for (let n = 0; n < shortOrLong(300, 5_000); n++) {
      const outcome = await send(url).catch((error: { code?: string }) => error.code)
      if (outcome === 'open') successes++
      else if (outcome === 'EGRESS_ADDRESS') refusals++
      else t.fail(String(outcome))
      await new Promise(resolve => setTimeout(resolve, n % 3))
    }
    t.equal(trap.count(), 0)
    t.equal(openConnections, successes)
    t.ok(successes > 0 && refusals > 0, `${successes} sent, ${refusals} refused`)
  },
)

t.test('egress: connects over TLS, by address and by name', async t => {
  trustReceivers()
  const { port } = await startReceiver(t)
  const egress = createEgress(`127.0.0.1:${port}`, { resolve: async () => ['127.0.0.1'] })
  t.equal(await ask(`https://127.0.0.1:${port}`, egress), 'ok')
  t.equal(await ask(`https://hook.test:${port}`, egress), 'ok')
  const wrong = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }
  await t.rejects(ask(`https://hook.example:${port}`, egress), wrong)
})

t.test('egress: tries the next address of a name when one fails', async t => {
  const { port } = await listen(t)
  const resolve = async () => ['127.0.0.9', '127.0.0.1']
  const egress = createEgress(`127.0.0.0/8:${port}`, { resolve })
  t.equal(await ask(`http://hook.test:${port}`, egress), 'hi')
})

t.test("egress: uses the system's resolver", async t => {
  const { port } = await listen(t)
  const egress = createEgress(`127.0.0.1:${port} [::1]:${port}`)
  t.equal(await ask(`http://localhost:${port}`, egress), 'hi')
  await t.rejects(ask('http://no-such-name.invalid', egress), { code: 'EGRESS_NAME' })
})
