/** Usage of a team over HTTP and both stores: calls of the playground, calls by keys and keys that
 *  move, as the member, others of the team, another account, CSV and commands see them. */
import t, { type Test } from 'tap'
import { type ConsoleClient, linkIn, startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/eventually.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { sharedPostgres } from '../../helpers/store/postgres.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'

t.setTimeout(scaled(120_000))

const CHAT = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hi' }] } as const
type Rows = readonly Readonly<Record<string, unknown>>[]

const startTeam = async (t: Test, engine: Engine) => {
  const env = engine === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).create() } : {}
  const gateway = await startConsole(t, { env })
  const account = await gateway.customer('acme', 1_000)
  const invite = async (name: string, role: string) => {
    const { body } = await account.ask('POST', '/api/members', { name, role })
    const client = await gateway.signIn({ link: linkIn(String(body.data.url)) })
    return { id: Number(body.data.id), client }
  }
  const people = {
    olga: await invite('olga', 'owner'),
    mia: await invite('mia', 'member'),
    max: await invite('max', 'member'),
  }
  const { body } = await people.mia.client.ask('POST', '/api/keys', { name: 'laptop' })
  const key = body.data
  return {
    gateway,
    account,
    other: await gateway.customer('other', 10),
    ...people,
    key: Number(key.id),
    callByKey: () =>
      gateway.ask('POST', '/v1/chat/completions', CHAT, { authorization: `Bearer ${key.key}` }),
  }
}
/** A call of the console's playground. */
const play = (client: ConsoleClient, body: object = CHAT) =>
  client.ask('POST', '/v1/chat/completions', body)
const usageOf = async (client: ConsoleClient, query = ''): Promise<Rows> =>
  (await client.ask('GET', `/api/usage?${query}`)).body.data
const callersOf = (calls: Rows) => calls.map(({ key, member }) => ({ key, member }))

const checkCalls = async (t: Test, team: Awaited<ReturnType<typeof startTeam>>) => {
  const { account, other, olga, mia, max, key, callByKey } = team
  t.equal((await callByKey()).status, 200)
  for (const { client } of [mia, max, { client: account }])
    t.equal((await play(client)).status, 200)
  const byKey = { key, member: mia.id }
  const byMia = { key: null, member: mia.id }
  t.same(callersOf(await usageOf(mia.client)), [byMia, byKey], 'her calls, the latest first')
  t.same(callersOf(await usageOf(max.client)), [{ key: null, member: max.id }])
  const all = [{ key: null, member: null }, { key: null, member: max.id }, byMia, byKey]
  t.same(callersOf(await usageOf(olga.client)), all, 'an owner sees all')
  t.same(await usageOf(other), [], 'another account sees nothing')

  const sums = await usageOf(olga.client, 'by=member')
  t.match(
    sums.map(({ name, calls }) => [name, calls]),
    [
      [null, 1],
      ['mia', 2],
      ['max', 1],
    ],
    'sums of each member',
  )
  for (const by of ['day', 'model', 'member']) {
    const own = await usageOf(mia.client, `by=${by}`)
    t.same(
      own.map(({ calls }) => calls),
      [2],
      `hers by ${by}`,
    )
    const filtered = await usageOf(olga.client, `by=${by}&member=${mia.id}`)
    t.same(
      filtered.map(({ calls }) => calls),
      [2],
      `the owner chooses her, by ${by}`,
    )
  }
  t.same(
    (await usageOf(mia.client, 'by=key')).map(sum => [sum.key, sum.calls]),
    [
      [null, 1],
      [key, 1],
    ],
  )
  t.equal((await usageOf(mia.client, `member=${max.id}`)).length, 2, 'she chooses nobody else')
  const [cell] = (await mia.client.ask('GET', '/api/usage/overview')).body.data
  t.equal(cell?.calls, 2)

  const csv = String((await mia.client.ask('GET', '/api/usage?format=csv')).body)
  const [head = '', ...lines] = csv.trim().split('\r\n')
  const at = head.split(',').indexOf('member')
  t.same(
    lines.map(line => line.split(',')[at]),
    [mia.id, mia.id].map(String),
    'CSV has the member',
  )
  const [{ request_id: hers } = {}] = await usageOf(mia.client)
  const statusFor = async (client: ConsoleClient) =>
    (await client.ask('GET', `/api/usage/${hers}`)).status
  t.same(
    [await statusFor(mia.client), await statusFor(olga.client)],
    [200, 200],
    'receipts of the playground',
  )
  t.same([await statusFor(max.client), await statusFor(other)], [404, 404])
}

const checkFailed = async (t: Test, team: Awaited<ReturnType<typeof startTeam>>) => {
  const { olga, mia, max } = team
  t.ok((await play(mia.client, { ...CHAT, model: 'unknown' })).status >= 400)
  // Failed calls are written every second.
  const [failed] = await eventually(async () => {
    const rows = await usageOf(mia.client, 'status=failed')
    return rows.length > 0 ? rows : undefined
  })
  t.match(failed, { key: null, member: mia.id })
  t.same(await usageOf(max.client, 'status=failed'), [])
  t.equal((await usageOf(olga.client, `status=failed&member=${mia.id}`)).length, 1)
  const receipt = (client: ConsoleClient) =>
    client.ask('GET', `/api/usage/${failed?.request_id}`).then(({ status }) => status)
  t.same([await receipt(mia.client), await receipt(max.client)], [200, 404])
  const logs = ['logs', '--account', 'acme', '--member', 'mia', '--model', 'unknown', '--json']
  const logged = await eventually(async () => {
    const { out } = await withOutput(t, logs, { TOLLGATE_DATA: team.gateway.data })
    const { requests } = JSON.parse(out)
    return requests.length > 0 ? requests : undefined
  })
  t.match(logged, [{ id: failed?.request_id, member: mia.id, member_name: 'mia' }])
  t.equal(logged.length, 1)
}

const checkMoves = async (t: Test, team: Awaited<ReturnType<typeof startTeam>>) => {
  const { olga, mia, max, key, callByKey } = team
  const withKey = async (client: ConsoleClient, query = '') => usageOf(client, `key=${key}${query}`)
  const before = await withKey(mia.client)
  await olga.client.ask('PATCH', `/api/keys/${key}`, { member: 'max' })
  t.same(await withKey(mia.client), before, 'her calls stay hers')
  t.same(await withKey(max.client), [], 'and are not his')
  // Each process knows the new member within a second.
  const [first] = await eventually(async () => {
    await callByKey()
    const calls = await withKey(max.client)
    return calls.length > 0 ? calls : undefined
  })
  t.same(first?.member, max.id, 'new calls are his')
  const stillHers = await withKey(mia.client)
  t.notOk(stillHers.some(({ request_id }) => request_id === first?.request_id))
  const all = await withKey(olga.client)
  t.equal(all.length, stillHers.length + 1, 'each call has one member')
  const counts = new Map(
    (await usageOf(olga.client, 'by=member')).map(({ name, calls }) => [name, calls]),
  )
  t.equal(counts.get('mia'), stillHers.length + 1, 'with that of the playground')
  t.equal(counts.get('max'), 2)
  const sums = await usageOf(olga.client, 'by=key')
  t.match(
    sums.filter(sum => sum.key === key),
    [{ calls: all.length }],
    'the key has one sum',
  )
  t.equal((await olga.client.ask('DELETE', `/api/members/${mia.id}`)).status, 200)
  const after = await usageOf(olga.client, 'by=member')
  t.match(
    after.find(({ member }) => member === mia.id),
    { name: 'mia', removed: true, calls: counts.get('mia') },
    'a removed member keeps them',
  )
}

for (const engine of ENGINES)
  t.test(`usage of a team on ${engine}`, async t => {
    const team = await startTeam(t, engine)
    await t.test('calls of the playground and by keys count for their member', t =>
      checkCalls(t, team),
    )
    await t.test('failed calls of the playground: the member finds his', t => checkFailed(t, team))
    await t.test('calls stay with the member who made them when their key moves', t =>
      checkMoves(t, team),
    )
  })
