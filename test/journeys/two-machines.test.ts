/** Two gateways with folders and ports of their own on one PostgreSQL are one installation: a key made on one is good on
 *  the other, and dead on both within a second after it was revoked. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { openDatabase } from '../../engine/database/database.ts'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { operatorEnv, plainly } from '../helpers/operator.ts'
import { startPostgres } from '../helpers/postgres.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const execute = promisify(execFile)
const server = await startPostgres()
const url = await server.create()
const machines = await Promise.all(
  [1, 2].map(() => startGateway({ env: { DATABASE_URL: url, WORKERS: '2' } })),
)
t.teardown(() => Promise.all(machines.map(machine => machine.stop())))
const [one, two] = machines as [TestGateway, TestGateway]

const call = async ({ url }: TestGateway, key: string): Promise<number> => {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  await response.arrayBuffer()
  return response.status
}
/** A command on the machine of this gateway. */
const run = async ({ data }: TestGateway, ...args: string[]) => {
  const env = { TOLLGATE_CONFIG: `${ROOT}routes.yaml`, TOLLGATE_DATA: data, DATABASE_URL: url }
  const program = `${ROOT}engine/cli.ts`
  const said = await execute(...plainly(process.execPath, program, ...args, '--json'), {
    env: operatorEnv(env),
  })
  t.notMatch(`${said.stdout}${said.stderr}`, server.password)
  return JSON.parse(said.stdout)
}
const shown = () =>
  machines.flatMap(machine => /\bsk-[A-Za-z0-9]{20,}/.exec(machine.output())?.[0] ?? [])

t.test('one admin, whoever was first', async t => {
  // Printed once it serves.
  while (shown().length === 0) await later(20)
  for (const machine of machines) t.equal(await call(machine, String(shown()[0])), 200)
})

t.test('made here, good there, revoked there, dead on both', async t => {
  await run(one, 'accounts', 'create', 'ann')
  const { id, key } = await run(one, 'keys', 'create', 'ann')
  t.equal(await call(one, key), 200)
  t.equal(await call(two, key), 200)
  await run(two, 'keys', 'revoke', String(id))
  const revokedAt = performance.now()
  const untilDead = async (machine: TestGateway): Promise<number> => {
    // A tenth of a second in which each worker says no, so that it was not only one of them.
    for (let refused = 0; refused < 10; ) {
      refused = (await call(machine, key)) === 401 ? refused + 1 : 0
      if (performance.now() - revokedAt > 10_000) return Number.POSITIVE_INFINITY
    }
    return performance.now() - revokedAt
  }
  const took = await Promise.all(machines.map(untilDead))
  t.comment(`dead after ${took.map(Math.round).join(' and ')} ms`)
  t.ok(Math.max(...took) < 10_000, 'within the deadline of a second, with its slack')
})

t.test('the server restarts: it is served again without anybody doing anything', async t => {
  const { key } = await run(one, 'keys', 'create', 'ann')
  await server.stop()
  await server.start()
  for (const machine of machines) while ((await call(machine, key)) !== 200);
  t.pass('on both')
})

t.test('the password stands nowhere, and nobody else was made an admin', async t => {
  t.equal(shown().length, 1)
  for (const machine of machines) t.notMatch(machine.output(), server.password)
  for (const { pid } of machines) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    t.ok(children.length > 2)
    for (const each of [pid, ...children])
      t.notMatch(readFileSync(`/proc/${each}/cmdline`, 'utf8'), server.password)
  }
  const database = await openDatabase({ url })
  const text = 'SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE ?'
  const sql = { name: 'activity', text }
  t.same(await database.read(sql, [`%${server.password}%x`]), [{ n: 0 }])
  await database.close()
})
