/** Two gateways with folders and ports of their own on one PostgreSQL are one installation: keys, money, limits and what was
 *  answered to an Idempotency-Key are the same on both, and what one holds as it dies is the other's. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { scaled } from '../../helpers/long.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { startPostgres } from '../../helpers/postgres.ts'
import { eventually } from '../../helpers/primary.ts'
import { rushForTen } from '../../helpers/rush.ts'
import { sql } from '../../helpers/store.ts'
import { withOutput } from '../../helpers/terminal.ts'
import { startUpstream } from '../../helpers/upstream.ts'

t.setTimeout(300_000)
const server = await startPostgres()
const url = await server.create()
const upstream = await startUpstream()
const routes = `
pipeline: [errors, auth, model, limit, idempotency, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 }, raw: { url: '${upstream.url}', connections: 1000 } }
models: { call: { to: up, price: { calls: 1 } } }
routes:
  - { path: 'GET /v1/models', auth: key, model: { list: openai }, errors: openai }
  - { path: 'POST /v1/chat/completions', auth: key, model: body, rewrite: '/', idempotency: true, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, rewrite: '/', limit: { concurrency: 5 }, errors: anthropic }
  - { path: 'GET /often', upstream: raw, rewrite: /s/ok, auth: key, limit: { requests: 37/h } }
`
const machines = await Promise.all(
  [1, 2].map(() =>
    startGateway({
      routes,
      settings: 'database: ${DATABASE_URL}',
      env: { DATABASE_URL: url, WORKERS: '2' },
    }),
  ),
)
t.teardown(() => Promise.all([...machines, upstream].map(each => each.stop())))
const database = await openDatabase({ url, writeTimeout: 10_000 })
t.teardown(() => database.close())
const rows = (text: string) => database.read(sql(`test: ${text}`, text), [])
const [one, two] = machines as [TestGateway, TestGateway]

const call = async ({ url }: TestGateway, key: string): Promise<number> => {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  await response.arrayBuffer()
  return response.status
}
/** A command on the machine of this gateway. */
const run = async (t: Test, { data }: TestGateway, ...args: string[]) => {
  const config = join(dirname(data), 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: data, DATABASE_URL: url }
  const said = await withOutput(t, [...args, '--json'], operatorEnv(env))
  t.equal(said.code, 0, said.err)
  t.notMatch(`${said.out}${said.err}`, server.password)
  return JSON.parse(said.out)
}
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
const shown = () =>
  machines.flatMap(machine => /\bsk-[A-Za-z0-9]{20,}/.exec(machine.output())?.[0] ?? [])

t.test('one admin, whoever was first', async t => {
  // Printed once it serves.
  while (shown().length === 0) await later(20)
  for (const machine of machines) t.equal(await call(machine, String(shown()[0])), 200)
})

/** ms until a revoked key is dead; where much else runs, with its slack. */
const DEADLINE = scaled(10_000, 1_000)

t.test('made here, good there, revoked there, dead on both', async t => {
  await run(t, one, 'accounts', 'create', 'ann')
  const { id, key } = await run(t, one, 'keys', 'create', 'ann')
  t.equal(await call(one, key), 200)
  t.equal(await call(two, key), 200)
  await run(t, two, 'keys', 'revoke', String(id))
  const revokedAt = performance.now()
  const untilDead = async (machine: TestGateway): Promise<number> => {
    let deadAt = revokedAt
    // A tenth of a second in which each worker says no, so that it was not only one of them.
    for (let refused = 0; refused < 10; ) {
      refused = (await call(machine, key)) === 401 ? refused + 1 : 0
      if (refused < 2) deadAt = performance.now()
      await later(10)
      if (deadAt - revokedAt > DEADLINE) return Number.POSITIVE_INFINITY
    }
    return deadAt - revokedAt
  }
  const took = await Promise.all(machines.map(untilDead))
  t.comment(`dead after ${took.map(Math.round).join(' and ')} ms`)
  t.ok(Math.max(...took) <= DEADLINE, 'within its deadline')
})

t.test('the server restarts: it is served again without anybody doing anything', async t => {
  const { key } = await run(t, one, 'keys', 'create', 'ann')
  await server.stop()
  await server.start()
  for (const machine of machines) while ((await call(machine, key)) !== 200) await later(20)
  t.pass('on both')
})

t.test('the password stands nowhere, and nobody else was made an admin', async t => {
  t.equal(shown().length, 1)
  for (const machine of machines) t.notMatch(machine.output(), server.password)
  for (const { pid } of machines) {
    const children = childrenOf(pid)
    t.ok(children.length > 2)
    for (const each of [pid, ...children])
      t.notMatch(readFileSync(`/proc/${each}/cmdline`, 'utf8'), server.password)
  }
  const text = 'SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE ?'
  const found = await database.read(sql('activity', text), [`%${server.password}%x`])
  t.same(found, [{ n: 0 }])
})

const ANSWER = JSON.stringify({
  id: 'x',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const SAID = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`
const ask = async (
  { url }: TestGateway,
  key: string,
  { path = '/v1/chat/completions', headers = {} as Readonly<Record<string, string>> } = {},
) => {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
      ...headers,
    },
    body: '{"model":"call","messages":[]}',
  })
  const { status } = response
  const replayed = response.headers.get('idempotent-replayed')
  return { status, replayed, text: await response.text() }
}
const at = (index: number): TestGateway => (index % 2 === 0 ? one : two)
const made = async (name: string) => {
  const now = Date.now()
  const said = await database.write(createAccount({ name, role: 'customer' }, now))
  const account = Number(said.at(-1)?.[0]?.id)
  const secret = makeSecret('key')
  await database.write(addKey({ account, name, secret }, now))
  return { key: secret.text, account }
}

t.test('five hundred calls over both on money for ten', async t => {
  await upstream.script('chat', [{ do: 'send', bytes: SAID }])
  const { key, account } = await made('bob')
  const texts = new Set<string>()
  const call = async (index: number): Promise<number> => {
    const { status, text } = await ask(at(index), key)
    if (status !== 200 && status !== 503) texts.add(JSON.parse(text).error.code)
    return status
  }
  for (let round = 0; round < scaled(1, 200); round++)
    await rushForTen(t, database, account, 500, call)
  t.same([...texts], ['insufficient_user_quota'])
  const { status, text } = await ask(two, key, { path: '/v1/messages' })
  t.equal(status, 403)
  t.match(JSON.parse(text), { type: 'error', error: { type: 'billing_error' } })
})

t.test('one Idempotency-Key on both: one call, one charge', async t => {
  const { key, account } = await made('cid')
  await credit(account, 5n)
  const go = { do: 'gate', name: 'once' } as const
  await upstream.script('chat', [go, { do: 'send', bytes: SAID }])
  const before = (await upstream.seen('request', 'chat')).length
  const headers = { 'idempotency-key': 'k' }
  const first = ask(one, key, { headers })
  await eventually(async () =>
    (await upstream.seen('request', 'chat')).length > before ? true : undefined,
  )
  t.equal((await ask(two, key, { headers })).status, 409)
  await upstream.open('once')
  const { status, text } = await first
  t.equal(status, 200)
  t.same(await ask(two, key, { headers }), { status: 200, replayed: 'true', text })
  t.equal((await upstream.seen('request', 'chat')).length, before + 1)
  t.match(await rows(`SELECT count(*) AS n FROM charges WHERE account = ${account}`), [{ n: 1 }])
})

t.test('a limit of both together', async t => {
  const { key } = await made('dan')
  const headers = { authorization: `Bearer ${key}`, connection: 'close' }
  const often = async (index: number): Promise<number> => {
    const response = await fetch(`${at(index).url}/often`, { headers })
    await response.arrayBuffer()
    // As in the rush: a machine that is too busy asks for another try.
    return response.status === 503 ? often(index) : response.status
  }
  await upstream.script('ok', [{ do: 'send', bytes: SAID }])
  const statuses = await Promise.all(Array.from({ length: 120 }, (_, index) => often(index)))
  const served = statuses.filter(status => status === 200).length
  t.equal(statuses.filter(status => status === 429).length, 120 - served)
  // On a machine that is too busy the store counts as away, and that is said.
  const away = machines.some(machine =>
    /each machine uses its fair share of limits/.test(machine.output()),
  )
  t.ok(away ? served <= 2 * 37 + 1 : served === 37, `${served} of 37`)
})

t.test("what a machine holds as it is killed is the other machine's", async t => {
  const { key, account } = await made('eve')
  await credit(account, 5n)
  await upstream.script('chat', [{ do: 'gate', name: 'never' }])
  const calls = Array.from({ length: 5 }, () =>
    ask(two, key, { path: '/v1/messages' }).catch(() => undefined),
  )
  const held = async () =>
    Number((await rows(`SELECT reserved FROM wallets WHERE id = ${account * 2}`))[0]?.reserved)
  await eventually(async () => ((await held()) === 5_000_000_000 ? true : undefined))
  t.equal((await ask(one, key, { path: '/v1/messages' })).status, 429, 'five at once, on both')
  t.equal((await ask(one, key)).status, 403, 'and no money')
  for (const pid of [two.pid, ...childrenOf(two.pid)]) process.kill(pid, 'SIGKILL')
  await Promise.all(calls)
  await upstream.script('chat', [{ do: 'send', bytes: SAID }])
  const free = await eventually(async () => {
    const { status } = await ask(one, key, { path: '/v1/messages' })
    return status === 200 ? status : undefined
  })
  t.equal(free, 200)
  const open = async () => (await rows("SELECT 1 FROM charges WHERE state = 'open'")).length
  await eventually(async () => ((await open()) === 0 ? true : undefined))
  t.match(await rows(`SELECT balance FROM wallets WHERE id = ${account * 2}`), [
    { balance: 4_000_000_000 },
  ])
  const buried = () => one.output().match(/"dead":"[^"]+"/g) ?? []
  await eventually(() => (buried().length > 1 ? true : undefined))
  t.equal(new Set(buried()).size, buried().length, 'each is buried once')
})

const credit = (account: number, units: bigint) =>
  database.write([
    openWallet(walletOf.account(account), 0n),
    addCredit({
      account,
      kind: 'credit',
      note: 'test',
      at: Date.now(),
      amount: units * 1_000_000_000n,
    }),
  ])
