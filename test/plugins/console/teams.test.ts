/** Members of a team over HTTP: each role against each operation, whose credentials are whose, and
 *  the end of a member. */
import t from 'tap'
import { linkIn } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { gateway } from './shipped-console.ts'

const owner = await gateway.customer('acme', 10)
type Client = typeof owner
const invite = async (by: Client, name: string, role: string) => {
  const { body } = await by.ask('POST', '/api/members', { name, role })
  return {
    id: Number(body.data.id),
    client: await gateway.signIn({ link: linkIn(String(body.data.url)) }),
  }
}
const olga = await invite(owner, 'olga', 'owner')
const adam = await invite(owner, 'adam', 'admin')
const mia = await invite(owner, 'mia', 'member')
const max = await invite(owner, 'max', 'member')
const vera = await invite(owner, 'vera', 'viewer')
const ROLES = { owner: olga.client, admin: adam.client, member: mia.client, viewer: vera.client }
const makeKey = async (client: Client, more = {}) =>
  (await client.ask('POST', '/api/keys', { name: 'laptop', ...more })).body.data
const [miasKey, maxKey] = [await makeKey(mia.client), await makeKey(max.client)]
const call = (key: unknown) =>
  gateway.ask(
    'POST',
    '/v1/chat/completions',
    { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] },
    { authorization: `Bearer ${key}` },
  )
await call(miasKey.key)
await call(maxKey.key)

/** The status of each operation for the roles owner, admin, member and viewer. */
const TABLE: readonly (readonly [string, string, unknown, readonly number[]])[] = [
  ['GET', '/api/session', undefined, [200, 200, 200, 200]],
  ['GET', '/api/user/info', undefined, [200, 200, 200, 200]],
  ['GET', '/api/members', undefined, [200, 200, 200, 200]],
  ['POST', '/api/members', { name: 'x', role: 'owner' }, [201, 403, 403, 403]],
  ['POST', '/api/members', { name: 'y', role: 'viewer' }, [201, 409, 403, 403]],
  ['PATCH', `/api/members/${olga.id}`, { role: 'owner' }, [200, 403, 403, 403]],
  ['PATCH', `/api/members/${max.id}`, { role: 'member' }, [200, 200, 403, 403]],
  ['POST', `/api/members/${olga.id}/link`, {}, [200, 403, 403, 403]],
  ['GET', '/api/keys', undefined, [200, 200, 200, 200]],
  ['POST', '/api/keys', { name: 'z' }, [201, 201, 201, 403]],
  ['GET', `/api/keys/${maxKey.id}`, undefined, [200, 200, 404, 200]],
  ['PATCH', `/api/keys/${maxKey.id}`, { name: 'desk' }, [200, 200, 404, 403]],
  ['GET', '/api/system-tokens', undefined, [200, 200, 200, 200]],
  ['POST', '/api/system-tokens', { name: 'ci' }, [201, 201, 201, 403]],
  ['GET', '/api/usage', undefined, [200, 200, 200, 200]],
  ['GET', '/api/usage?by=member', undefined, [200, 200, 200, 200]],
  ['GET', '/api/usage/overview', undefined, [200, 200, 200, 200]],
  ['GET', '/api/plans', undefined, [200, 200, 200, 200]],
  ['GET', '/api/budgets', undefined, [200, 200, 200, 200]],
  [
    'GET',
    `/api/statements?period=${new Date().toISOString().slice(0, 7)}`,
    undefined,
    [200, 200, 403, 200],
  ],
  ['POST', '/api/codes/redeem', { code: '00000-00000-00000-00000' }, [404, 404, 403, 403]],
  ['GET', '/api/plans', undefined, [200, 200, 200, 200]],
  ['GET', '/api/budgets', undefined, [200, 200, 200, 200]],
  ['POST', '/api/plans/buy', { plan: 'none' }, [400, 400, 403, 403]],
  ['POST', '/api/plans/cancel', {}, [404, 404, 403, 403]],
  ['PUT', '/api/journal', { consents: true }, [409, 409, 403, 403]],
  ['GET', '/api/notifications', undefined, [200, 200, 200, 200]],
  ['PUT', '/api/notifications', { threshold: 1 }, [200, 200, 403, 403]],
  ['GET', '/api/tasks', undefined, [200, 200, 200, 200]],
  ['GET', '/v1/files', undefined, [200, 200, 200, 200]],
  [
    'POST',
    '/v1/chat/completions',
    { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hi' }] },
    [200, 200, 200, 403],
  ],
  ['GET', '/api/admin/accounts', undefined, [403, 403, 403, 403]],
]

t.test('teams: each role may do what the table says', async t => {
  for (const [method, path, body, expected] of TABLE) {
    const statuses: number[] = []
    for (const client of Object.values(ROLES)) {
      const reply = await client.ask(method, path, body)
      statuses.push(reply.status)
      if (reply.status === 403 && !path.startsWith('/v1/'))
        t.match(reply.body.message, /team|role "admin"/, `${method} ${path}: the reason`)
    }
    t.same(statuses, expected, `${method} ${path}`)
  }
})

t.test('teams: a member sees his own calls and keys, others those of the team', async t => {
  const namesOf = async (client: Client) =>
    (await client.ask('GET', '/api/keys?limit=1000')).body.data.map(({ member }) => member)
  t.same(new Set(await namesOf(mia.client)), new Set(['mia']))
  t.ok((await namesOf(vera.client)).includes('max'))
  const keysIn = async (client: Client, query: string) =>
    (await client.ask('GET', `/api/usage?${query}`)).body.data.map(({ key }) => key)
  // The table above made a call in the session of each role.
  t.same(await keysIn(mia.client, 'by=call'), [null, miasKey.id])
  t.same(await keysIn(mia.client, 'by=key'), [null, miasKey.id])
  t.ok((await keysIn(olga.client, 'by=call')).includes(maxKey.id))
  const [day] = (await mia.client.ask('GET', '/api/usage?by=day')).body.data
  t.equal(day?.calls, 2)
  const [cell] = (await mia.client.ask('GET', '/api/usage/overview')).body.data
  t.equal(cell?.calls, 2)
  const calls = (await olga.client.ask('GET', '/api/usage?by=call')).body.data
  const maxs = calls.find(({ key }) => key === maxKey.id)
  t.equal((await mia.client.ask('GET', `/api/usage/${maxs?.request_id}`)).status, 404)
  t.equal((await vera.client.ask('GET', `/api/usage/${maxs?.request_id}`)).status, 200)
})

t.test('teams: sums by member, and those of one member', async t => {
  const sumsOf = async (client: Client, query = '') =>
    (await client.ask('GET', `/api/usage?by=member${query}`)).body.data.map(sum => ({
      member: sum.member,
      name: sum.name,
      role: sum.role,
      calls: sum.calls,
    }))
  const [miasSum, maxSum] = [
    { member: mia.id, name: 'mia', role: 'member', calls: 2 },
    { member: max.id, name: 'max', role: 'member', calls: 1 },
  ]
  const others = [olga, adam].map(({ id }) => ({ member: id, calls: 1 }))
  t.match(await sumsOf(vera.client), [...others, miasSum, maxSum])
  t.same(await sumsOf(olga.client, `&member=${max.id}`), [maxSum])
  t.same(await sumsOf(mia.client), [miasSum])
  t.same(await sumsOf(mia.client, `&member=${max.id}`), [miasSum], 'she chooses nobody else')
  const models = (await adam.client.ask('GET', `/api/usage?by=model&member=${max.id}`)).body.data
  t.match(models, [{ model: 'gp-4.1', calls: 1 }])
  const calls = (await adam.client.ask('GET', `/api/usage?by=call&member=${max.id}`)).body.data
  t.same(
    calls.map(({ key }) => key),
    [maxKey.id],
  )
  t.equal((await olga.client.ask('GET', '/api/usage?member=max')).status, 400)
  const csv = await olga.client.ask('GET', '/api/usage?by=member&format=csv')
  t.match(String(csv.body), /member,name,role,calls/)
})

t.test('teams: a member sees and cancels his own tasks and batches only', async t => {
  const ask = (key: unknown, method: string, path: string, body?: object) =>
    gateway.ask(method, path, body, { authorization: `Bearer ${key}` })
  const idsIn = (body: unknown): readonly string[] =>
    ((body as { data: readonly { id: string }[] }).data ?? []).map(({ id }) => id)
  const create = async (key: unknown) => {
    const task = await ask(key, 'POST', '/ent/v2/text2video', { model: 'vdq3', prompt: 'a' })
    t.equal(task.status, 200, JSON.stringify(task.body))
    const params = { model: 'cl-4-8', max_tokens: 5, messages: [{ role: 'user', content: 'a' }] }
    const requests = [{ custom_id: 'a', params }]
    const batch = await ask(key, 'POST', '/v1/messages/batches', { requests })
    t.equal(batch.status, 200, JSON.stringify(batch.body))
    return {
      task: String((task.body as never as { task_id: unknown }).task_id),
      batch: String((batch.body as never as { id: unknown }).id),
    }
  }
  const [hers, his] = [await create(miasKey.key), await create(maxKey.key)]
  const batches = async (key: unknown) =>
    idsIn((await ask(key, 'GET', '/v1/messages/batches')).body)
  const tasks = async (client: Client) => idsIn((await client.ask('GET', '/api/tasks')).body)
  t.same(await batches(miasKey.key), [hers.batch])
  t.same(await tasks(mia.client), [hers.task])
  t.same(await tasks(max.client), [his.task])
  for (const client of [olga.client, adam.client, vera.client])
    t.same(new Set(await tasks(client)), new Set([hers.task, his.task]), 'all of the team')
  const statuses = async (key: unknown, { task, batch }: typeof his) => [
    (await ask(key, 'GET', `/ent/v2/tasks/${task}/creations`)).status,
    (await ask(key, 'POST', `/ent/v2/tasks/${task}/cancel`, {})).status,
    (await ask(key, 'GET', `/v1/messages/batches/${batch}`)).status,
    (await ask(key, 'POST', `/v1/messages/batches/${batch}/cancel`, {})).status,
  ]
  t.same(await statuses(miasKey.key, his), [404, 404, 404, 404])
  t.equal((await mia.client.ask('GET', `/api/tasks/${his.task}`)).status, 404)
  t.equal((await olga.client.ask('GET', `/api/tasks/${his.task}`)).status, 200)
  t.equal((await statuses(maxKey.key, his))[2], 200)
})

t.test('teams: nobody gets rights that he has not', async t => {
  const { body } = await owner.ask('POST', '/api/system-tokens', { name: 'root' })
  const rotate = (client: Client) =>
    client.ask('POST', `/api/system-tokens/${body.data.id}/rotate`, {})
  t.equal((await rotate(adam.client)).status, 403, 'the token of the account has all rights')
  t.equal((await rotate(mia.client)).status, 404)
  const refusedKey = await mia.client.ask('POST', '/api/keys', { name: 'k', member: 'max' })
  t.equal(refusedKey.status, 403, 'a member makes keys of his own')
  t.equal((await makeKey(adam.client, { member: 'max' })).member, 'max')
  const unknown = await adam.client.ask('POST', '/api/keys', { name: 'k', member: 'nobody' })
  t.match(unknown, { status: 404, body: { param: 'member' } })
  const double = await owner.ask('POST', '/api/members', { name: 'mia', role: 'viewer' })
  t.equal(double.status, 409)
  const wrong = await owner.ask('POST', '/api/members', { name: 'u', role: 'king' })
  t.match(wrong, { status: 400, body: { message: /'owner', 'admin'/ } })
  const token = (await mia.client.ask('POST', '/api/system-tokens', { name: 't' })).body.data.token
  const asMia = { authorization: `Bearer ${token}` }
  const refused = await gateway.ask('POST', '/api/members', { name: 'v', role: 'viewer' }, asMia)
  t.equal(refused.status, 403, 'his token has his role')
  const other = await gateway.customer('other', 1)
  t.equal((await other.ask('PATCH', `/api/members/${mia.id}`, { role: 'owner' })).status, 404)
})

t.test('teams: a key moves without its calls; a member ends with his credentials', async t => {
  const moved = await adam.client.ask('PATCH', `/api/keys/${maxKey.id}`, { member: 'mia' })
  t.equal(moved.body.data.member, 'mia')
  const callsOf = async (client: Client) =>
    (await client.ask('GET', '/api/usage?by=call')).body.data.filter(({ key }) => key === maxKey.id)
  const before = await callsOf(max.client)
  t.ok(before.length > 0 && before.every(({ member }) => member === max.id), 'they stay his')
  t.same(await callsOf(mia.client), [])
  // Every process knows it within a second.
  const [first] = await eventually(async () => {
    await call(maxKey.key)
    const calls = await callsOf(mia.client)
    return calls.length > 0 ? calls : undefined
  })
  t.equal(first?.member, mia.id, 'new ones are hers')
  const known = new Set((await callsOf(max.client)).map(({ request_id }) => request_id))
  t.notOk(known.has(first?.request_id))
  t.equal((await adam.client.ask('DELETE', `/api/members/${mia.id}`)).status, 200)
  const isRefused = async (ask: () => Promise<{ readonly status: number }>) =>
    (await ask()).status === 401
  await eventually(() => isRefused(() => call(miasKey.key)))
  await eventually(() => isRefused(() => call(maxKey.key)))
  await eventually(() => isRefused(() => mia.client.ask('GET', '/api/session')))
  const { data: rest } = (await olga.client.ask('GET', '/api/members')).body
  t.notOk(rest.some(({ name }) => name === 'mia'))
  const again = await owner.ask('POST', '/api/members', { name: 'mia', role: 'viewer' })
  t.equal(again.status, 201, 'the name is free')
})
