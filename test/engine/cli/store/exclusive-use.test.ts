/** While a store is moved or restored, nothing else uses it: no gateway starts, no second move, and
 *  no command writes. A move that was killed is repeated. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { takeInstanceLock } from '../../../../engine/processes/primary/instance-lock.ts'
import { readMoveMark, writeMoveMark } from '../../../../engine/store/move/mark.ts'
import { openLock } from '../../../../engine/store/sqlite/store-lock.ts'
import { tollgate } from '../../../helpers/gateway/command-line.ts'
import { eventually, spawnPrimary } from '../../../helpers/gateway/primary.ts'
import { sharedPostgres } from '../../../helpers/store/postgres.ts'
import { seededStore } from '../seeded-store.ts'

const CONFIG = fileURLToPath(new URL('../small.yaml', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../../../../engine/cli.ts', import.meta.url))
/** The lock of migrations, which a move needs before it copies. */
const MIGRATIONS = '7164390215508164975'
const server = await sharedPostgres()

/** A seeded store, an empty database, and a session of the database. */
const prepare = async (t: Test) => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 2, charges: 4 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const url = await server.create()
  const database = new URL(url).pathname.slice(1)
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  const waits = `SELECT 1 FROM pg_stat_activity
    WHERE datname = '${database}' AND wait_event_type = 'Lock'`
  const isWaiting = async () => (await server.ask(waits)).length > 0
  return { dataFolder, file: `${dataFolder}/tollgate.db`, env, url, client, isWaiting }
}
const start = (words: readonly string[], env: Readonly<Record<string, string>>) =>
  spawn(process.execPath, [PROGRAM, ...words], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  })
/** Whether any process has a lock of the file. */
const isLocked = (file: string): boolean =>
  existsSync(file) && readFileSync('/proc/locks', 'utf8').includes(`:${statSync(file).ino} `)
const refuseStart = async (t: Test, env: Readonly<Record<string, string>>): Promise<void> => {
  const gateway = spawnPrimary(t, { files: { 'unused.txt': '' }, env })
  t.equal(await gateway.exitCode(), 3, gateway.messages())
  t.match(gateway.messages(), /in use by another gateway.*`.*move` or `.*restore`/)
}

t.test('move: no gateway starts and no second move begins meanwhile', async t => {
  const { env, url, client, isWaiting } = await prepare(t)
  await client.query(`SELECT pg_advisory_lock(${MIGRATIONS})`)
  const move = tollgate(['move', '--to', url], env)
  await eventually(isWaiting)
  await refuseStart(t, env)
  for (const target of [url, await server.create()]) {
    const second = await tollgate(['move', '--to', target], env)
    t.match(second, { code: 3, err: /`tollgate move`/ })
  }
  await client.query('SELECT pg_advisory_unlock_all()')
  t.match(await move, { code: 0 })
})

t.test('moved store: nothing writes to the source while it is moved', async t => {
  const { env, url, client, isWaiting } = await prepare(t)
  // This session has a lock that the move needs, so the move waits until the lock is released.
  await client.query(`SELECT pg_advisory_lock(${MIGRATIONS})`)
  const move = tollgate(['move', '--to', url], env)
  await eventually(isWaiting)
  const credit = await tollgate(['accounts', 'credit', 'account 2 é✓', '5'], env)
  t.match(credit, { code: 3, err: /another program has its lock/ })
  await client.query('SELECT pg_advisory_unlock_all()')
  t.match(await move, { code: 0 })
})

/** Makes a move wait for an advisory lock: 1 in the midst of the copy, 2 behind the mark. */
const STEPS = [
  `CREATE TABLE tollgate_move
     (name TEXT PRIMARY KEY, position BIGINT NOT NULL, source TEXT, finished BIGINT)`,
  `CREATE FUNCTION wait() RETURNS trigger AS $$ BEGIN
     PERFORM pg_advisory_xact_lock(CASE WHEN NEW.finished IS NULL THEN 1 ELSE 2 END);
     RETURN NEW; END $$ LANGUAGE plpgsql`,
  `CREATE TRIGGER copies BEFORE UPDATE ON tollgate_move FOR EACH ROW
     WHEN (NEW.name = 'charges' OR NEW.finished IS NOT NULL) EXECUTE FUNCTION wait()`,
]
t.test(
  'move: killed at each step, it leaves a store that is used or refused, and ends',
  async t => {
    const { env, file, url, client, isWaiting } = await prepare(t)
    const target = { ...env, DATABASE_URL: url }
    for (const step of STEPS) await client.query(step)
    const sessions = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tollgate'`
    for (const lock of [MIGRATIONS, '1', '2']) {
      await client.query(`SELECT pg_advisory_lock(${lock})`)
      const child = start(['move', '--to', url], env)
      await eventually(isWaiting)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const isMarked = lock === '2'
      t.equal(readMoveMark(file) !== undefined, isMarked)
      t.match(await tollgate(['accounts', 'list'], env), { code: isMarked ? 3 : 0 })
      t.match(await tollgate(['accounts', 'list'], target), { code: 3 }, 'nor is the target used')
      // Until then the server may still run what the killed process has sent.
      await eventually(async () => (await client.query(sessions)).rowCount === 0)
      await client.query('SELECT pg_advisory_unlock_all()')
    }
    t.match(await tollgate(['move', '--to', url], env), { code: 0 })
    t.match(await tollgate(['accounts', 'list'], target), { code: 0, out: /account 2/ })
    t.match(await tollgate(['accounts', 'list'], env), { code: 3, err: /was moved to/ })
  },
)

t.test('restore: no gateway starts and no command writes meanwhile', async t => {
  const { env, dataFolder, file } = await prepare(t)
  const copy = `${dataFolder}/copy.db`
  t.match(await tollgate(['backup', copy], env), { code: 0 })
  const lock = openLock(file)
  t.equal(lock.take(), true)
  const restore = start(['restore', copy, '--replace'], env)
  await eventually(() => isLocked(`${dataFolder}/gateway.lock`))
  restore.kill('SIGSTOP')
  await refuseStart(t, env)
  lock.close()
  restore.kill('SIGCONT')
  t.same(await once(restore, 'exit'), [0, null])

  const instance = await takeInstanceLock(dataFolder)
  const refused = await tollgate(['restore', copy, '--replace'], env)
  t.match(refused, { code: 3, err: /in use by another gateway/ })
  if ('lock' in instance) instance.lock?.close()
  t.match(await tollgate(['restore', copy, '--replace'], env), { code: 0 })
})

t.test('restore: a backup of a moved store, and over one, needs --anyway', async t => {
  const { env, dataFolder, file } = await prepare(t)
  const [early, late] = [`${dataFolder}/early.db`, `${dataFolder}/late.db`]
  t.match(await tollgate(['backup', early], env), { code: 0 })
  writeMoveMark(file, 'postgres://db.internal:5432/x', Date.now())
  t.match(await tollgate(['backup', late, '--anyway'], env), { code: 0 })
  const over = await tollgate(['restore', early, '--replace'], env)
  t.match(over, { code: 3, err: /tollgate\.db was moved to/ })
  t.match(await tollgate(['restore', early, '--replace', '--anyway'], env), { code: 0 })
  t.equal(readMoveMark(file), undefined)
  t.match(await tollgate(['accounts', 'list'], env), { code: 0 })
  const moved = await tollgate(['restore', late, '--replace'], env)
  t.match(moved, { code: 3, err: /late\.db was moved to/ })
  t.match(await tollgate(['restore', late, '--replace', '--anyway'], env), { code: 0 })
  t.equal(readMoveMark(file), undefined, 'it is in use again')
  t.match(await tollgate(['accounts', 'list'], env), { code: 0 })
})
