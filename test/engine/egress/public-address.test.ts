/** Requests to customer URLs reach public addresses, and those that the operator allowed. */
import t from 'tap'
import { CompileError } from '../../../engine/config/compile/compile.ts'
import type { HostBase, Reply } from '../../../engine/plugin.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

/** The host that the setup of a plugin receives. */
const hostWith = async (
  test: Parameters<typeof startTestServer>[0],
  allow: string,
): Promise<HostBase> => {
  let pluginHost: HostBase | undefined
  const capture = pluginOf(
    { answers: true },
    {
      setup(_, host) {
        pluginHost = host
        return { answers: true }
      },
    },
  )
  await startTestServer(
    test,
    { capture },
    {
      settings: { egress_allow: allow },
      routes: [{ path: 'GET /x' }],
    },
  )
  if (!pluginHost) throw new Error('no setup ran')
  return pluginHost
}
const text = async (reply: Reply): Promise<string> =>
  Buffer.from(await reply.bytes(1_000)).toString()

t.test('public send: an allowed address is reached, path and query unchanged', async t => {
  const url = await startHttpUpstream(t, (incoming, response) => {
    response.end(
      `${incoming.method} ${incoming.url} ${incoming.headers.authorization ?? 'no credential'}`,
    )
  })
  const host = await hostWith(t, new URL(url).host)
  const reply = await host.send('public', { method: 'GET', path: `${url}/a/b?c=d` })
  t.equal(reply.status, 200)
  t.equal(await text(reply), 'GET /a/b?c=d no credential')
})

t.test('public send: a redirect is a reply', async t => {
  const url = await startHttpUpstream(t, (_, response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  })
  const host = await hostWith(t, new URL(url).host)
  const reply = await host.send('public', { method: 'POST', path: url, body: Buffer.from('{}') })
  t.equal(reply.status, 302)
  await reply.bytes(10)
})

t.test('public send: no other address of this machine is reached', async t => {
  let requestCount = 0
  const url = await startHttpUpstream(t, (_, response) => {
    requestCount++
    response.end()
  })
  const { port } = new URL(url)
  const host = await hostWith(t, '')
  for (const address of [
    url,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    `http://2130706433:${port}/`,
    'http://169.254.169.254/latest/meta-data',
    'ftp://example.com/',
    'not a url',
  ])
    await t.rejects(
      host.send('public', { method: 'GET', path: address }),
      { message: /cannot be reached|not a public address/ },
      address,
    )
  t.equal(requestCount, 0)
})

t.test('public send: an unreadable EGRESS_ALLOW is a configuration problem', async t => {
  const error = await hostWith(t, '10.0.0.0/8 example.com').catch((cause: CompileError) => cause)
  if (!(error instanceof CompileError)) throw new Error('the configuration was accepted')
  t.same(
    error.faults.map(({ where, code }) => ({ where, code })),
    [{ where: ['settings', 'egress_allow'], code: 'EGRESS_ALLOW' }],
  )
})
