/** Members of a team over HTTP: each role against each endpoint, whose credentials are whose, and
 *  the end of a member. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { linkIn } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { gateway } from './shipped-console.ts'

const owner = await gateway.customer('acme', 100)
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
  ['GET', '/api/sessions', undefined, [200, 200, 200, 200]],
  ['GET', '/api/credits', undefined, [200, 200, 403, 200]],
  ['POST', '/api/notifications/test', undefined, [409, 409, 403, 403]],
  ['GET', '/api/user/self', undefined, [200, 200, 200, 200]],
  ['GET', '/api/user/models', undefined, [200, 200, 200, 200]],
  ['GET', '/api/log/self', undefined, [200, 200, 200, 200]],
  ['GET', '/api/token/', undefined, [200, 200, 200, 200]],
  ['POST', '/api/token/', { name: 'new' }, [200, 200, 200, 403]],
  ['PUT', '/api/token/', { id: maxKey.id, name: 'desk' }, [200, 200, 404, 403]],
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

let count = 0
const idOf = async (client: Client, path: string, body: object): Promise<string> => {
  const reply = await client.ask('POST', path, { name: `made ${++count}`, ...body })
  t.equal(reply.status, 201, JSON.stringify(reply.body))
  return String(reply.body.data.id)
}
/** Makes the object of a row, by the client that asks, and returns its id. */
type Make = (client: Client) => string | Promise<string>
const keyOfMax: Make = () => idOf(max.client, '/api/keys', {})
const tokenOfMax: Make = () => idOf(max.client, '/api/system-tokens', {})
const tokenOfOwner: Make = () => idOf(olga.client, '/api/system-tokens', {})
const own: Readonly<Record<'key' | 'token', Make>> = {
  key: client =>
    client === vera.client
      ? idOf(olga.client, '/api/keys', { member: 'vera' })
      : idOf(client, '/api/keys', {}),
  token: client =>
    client === vera.client ? tokenOfMax(client) : idOf(client, '/api/system-tokens', {}),
}
const member =
  (role: string): Make =>
  () =>
    idOf(owner, '/api/members', { role })
const sessionOf =
  (name: string): Make =>
  async () => {
    const { data } = (await owner.ask('GET', '/api/members')).body
    const { id } = data.find(each => each.name === name) ?? {}
    const sessions = async () =>
      (await owner.ask('GET', '/api/sessions?limit=1000')).body.data.map(each => String(each.id))
    const before = new Set(await sessions())
    const { body } = await owner.ask('POST', `/api/members/${id}/link`, {})
    await gateway.signIn({ link: linkIn(String(body.data.url)) })
    return (await sessions()).find(each => !before.has(each)) ?? 'none'
  }
const callOfMax: Make = async () => {
  const calls = (await max.client.ask('GET', '/api/usage?by=call')).body.data
  return String(calls[0]?.request_id)
}
const taskOfMax: Make = async () => {
  const order = { model: 'vdq3', prompt: 'a' }
  const headers = { authorization: `Bearer ${maxKey.key}` }
  const { body, status } = await gateway.ask('POST', '/ent/v2/text2video', order, headers)
  t.equal(status, 200, JSON.stringify(body))
  return String((body as never as { task_id: unknown }).task_id)
}
/** The same for endpoints of one object: `ID` is its id. */
const OBJECTS: readonly (readonly [string, string, Make, unknown, readonly number[]])[] = [
  ['GET', '/api/usage/ID', callOfMax, undefined, [200, 200, 404, 200]],
  ['POST', '/api/keys/ID/rotate', keyOfMax, {}, [200, 200, 404, 403]],
  ['POST', '/api/keys/ID/rotate', own.key, {}, [200, 200, 200, 403]],
  ['PATCH', '/api/keys/ID', own.key, { name: 'mine' }, [200, 200, 200, 403]],
  ['DELETE', '/api/keys/ID', keyOfMax, undefined, [200, 200, 404, 403]],
  ['DELETE', '/api/keys/ID', own.key, undefined, [200, 200, 200, 403]],
  ['GET', '/api/system-tokens/ID', tokenOfMax, undefined, [200, 200, 404, 404]],
  ['PATCH', '/api/system-tokens/ID', tokenOfMax, { name: 'other' }, [200, 200, 404, 403]],
  ['POST', '/api/system-tokens/ID/rotate', tokenOfMax, {}, [200, 200, 404, 403]],
  ['DELETE', '/api/system-tokens/ID', tokenOfMax, undefined, [200, 200, 404, 403]],
  ['PATCH', '/api/system-tokens/ID', tokenOfOwner, { name: 'other' }, [200, 403, 404, 403]],
  ['POST', '/api/system-tokens/ID/rotate', tokenOfOwner, {}, [200, 403, 404, 403]],
  ['DELETE', '/api/system-tokens/ID', tokenOfOwner, undefined, [200, 403, 404, 403]],
  ['DELETE', '/api/system-tokens/ID', own.token, undefined, [200, 200, 200, 403]],
  ['DELETE', '/api/sessions/ID', sessionOf('max'), undefined, [200, 200, 404, 404]],
  ['DELETE', '/api/sessions/ID', sessionOf('olga'), undefined, [200, 403, 404, 404]],
  ['DELETE', '/api/sessions/ID', sessionOf('vera'), undefined, [200, 200, 404, 200]],
  ['DELETE', '/api/members/ID', member('viewer'), undefined, [200, 200, 403, 403]],
  ['DELETE', '/api/members/ID', member('owner'), undefined, [200, 403, 403, 403]],
  ['GET', '/api/token/ID', keyOfMax, undefined, [200, 200, 404, 200]],
  ['DELETE', '/api/token/ID', keyOfMax, undefined, [200, 200, 404, 403]],
  ['GET', '/api/tasks/ID', taskOfMax, undefined, [200, 200, 404, 200]],
  ['POST', '/api/tasks/ID/cancel', taskOfMax, {}, [200, 200, 404, 403]],
]
t.test('teams: each role may do to objects what the table says', async t => {
  for (const [method, path, make, body, expected] of OBJECTS) {
    const statuses: number[] = []
    for (const client of Object.values(ROLES)) {
      const reply = await client.ask(method, path.replace('ID', await make(client)), body)
      statuses.push(reply.status)
    }
    t.same(statuses, expected, `${method} ${path}`)
  }
})

/** Streams of events: their head is asked alone. */
const STREAMS: Readonly<Record<string, readonly number[]>> = {
  // They name the calls of all members.
  '/api/usage/events': [200, 200, 403, 200],
  '/api/tasks/events': [200, 200, 200, 200],
  '/api/batches/events': [200, 200, 200, 200],
}
t.test('teams: each role may follow events', async t => {
  for (const [path, expected] of Object.entries(STREAMS)) {
    const statuses: number[] = []
    for (const { cookie } of Object.values(ROLES)) {
      const response = await fetch(gateway.url + path, { headers: { cookie } })
      statuses.push(response.status)
      await response.body?.cancel()
    }
    t.same(statuses, expected, path)
  }
})

t.test('teams: the tables have each endpoint of customers', async t => {
  const routes = ['program/config/console.yaml', 'routes.yaml'].flatMap(
    file =>
      (
        parse(readFileSync(file, 'utf8'), { merge: true }) as {
          routes: readonly { path: string; auth?: unknown }[]
        }
      ).routes,
  )
  const endpoints = new Set([
    ...TABLE.map(([method, path]) => `${method} ${path.replace(/\?.*/, '')}`),
    ...OBJECTS.map(([method, path]) => `${method} ${path}`),
    ...Object.keys(STREAMS).map(path => `GET ${path}`),
    'DELETE /api/session', // each may sign out
    'GET /api/tasks/ID/results/0/url', // as its task
  ])
  const own = routes.filter(
    ({ path, auth }) => [auth].flat().includes('session') && / \/api\/(?!admin\/)/.test(path),
  )
  t.ok(own.length > 45)
  for (const { path } of own) {
    const [methods = '', pattern = ''] = path.split(' ')
    const method = methods.split('|')[0]
    const shape = new RegExp(`^${method} ${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    t.ok(
      [...endpoints].some(each => shape.test(each)),
      path,
    )
  }
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
