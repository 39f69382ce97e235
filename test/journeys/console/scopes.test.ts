/** Scopes of system tokens over sockets: one that may only read, and one that may change API keys;
 *  neither changes anything else, signs in, or operates the gateway. */
import t from 'tap'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/eventually.ts'

t.test('scopes of system tokens', async t => {
  const gateway = await startConsole(t)
  const ann = await gateway.customer('ann', 10)
  const operator = await gateway.signIn({ token: gateway.token })
  const make = async (scope: string | undefined, by = ann) => {
    const reply = await by.ask('POST', '/api/system-tokens', {
      name: 'ci',
      ...(scope && { scope }),
    })
    t.match(reply, { status: 201, body: { data: { scope: scope ?? 'all' } } })
    return String(reply.body.data.token)
  }
  const ask = async (token: string, method: string, path: string, body?: object) =>
    (await gateway.ask(method, path, body, { authorization: `Bearer ${token}` })).status
  const [read, keys, all] = [await make('read'), await make('keys'), await make(undefined)]
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'mine' })
  const { id } = key.data

  const REQUESTS: readonly (readonly [string, string, object | undefined, number[]])[] = [
    ['GET', '/api/user/info', undefined, [200, 200, 200]],
    ['GET', '/api/usage', undefined, [200, 200, 200]],
    ['GET', '/api/keys', undefined, [200, 200, 200]],
    ['GET', '/api/token/', undefined, [200, 200, 200]],
    ['POST', '/api/keys', { name: 'x' }, [403, 201, 201]],
    ['POST', '/api/token/', { name: 'x' }, [403, 200, 200]],
    ['PATCH', `/api/keys/${id}`, { name: 'y' }, [403, 200, 200]],
    ['POST', `/api/keys/${id}/rotate`, {}, [403, 200, 200]],
    ['POST', '/api/system-tokens', { name: 'x' }, [403, 403, 201]],
    ['POST', '/api/codes/redeem', { code: '00000-00000-00000-00000' }, [403, 403, 404]],
    ['POST', '/api/members', { name: 'max', role: 'owner' }, [403, 403, 201]],
  ]
  for (const [method, path, body, expected] of REQUESTS) {
    const statuses = []
    for (const token of [read, keys, all]) statuses.push(await ask(token, method, path, body))
    t.same(statuses, expected, `${method} ${path}`)
  }
  for (const token of [read, keys])
    t.match(await gateway.ask('POST', '/api/session', { token }), {
      status: 403,
      body: { message: /cannot sign in/ },
    })
  t.equal((await gateway.ask('POST', '/api/session', { token: all })).status, 200)
  const { body: listed } = await ann.ask('GET', '/api/system-tokens')
  t.same(listed.data.map(({ scope }) => scope).slice(0, 3), ['read', 'keys', 'all'])

  const [reads, manages] = [await make('read', operator), await make('keys', operator)]
  t.equal(await ask(reads, 'GET', '/api/admin/accounts'), 200)
  for (const token of [reads, manages])
    t.equal(await ask(token, 'POST', '/api/admin/accounts', { name: 'eve' }), 403)

  t.equal(await ask(keys, 'DELETE', `/api/keys/${id}`), 200)
  const refused = await ann.ask('POST', '/api/system-tokens', { scope: 'write' })
  t.match(refused, { status: 400, body: { success: false, message: /scope/ } })
  t.equal((await ann.ask('POST', '/api/keys', { name: 'k', scope: 'read' })).status, 400)
  t.match(await operator.ask('POST', '/api/admin/keys', { account: 'ann', scope: 'read' }), {
    status: 400,
    body: { message: /Only system tokens/ },
  })
  const rotated = await ann.ask('POST', `/api/system-tokens/${listed.data[0]?.id}/rotate`, {})
  const again = String(rotated.body.data.token)
  await eventually(async () => (await ask(again, 'GET', '/api/keys')) === 200)
  t.equal(await ask(again, 'POST', '/api/keys', { name: 'x' }), 403, 'the scope stays')
})
