/** A store that was moved, and a command beside a gateway that uses another store: refused with the
 *  way out, and `--anyway`. */
import { symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { storeIdentity } from '../../../../engine/store/address.ts'
import { readMoveMark, removeMoveMark, writeMoveMark } from '../../../../engine/store/move/mark.ts'
import { openLock } from '../../../../engine/store/sqlite/store-lock.ts'
import { type CommandResult, tollgate } from '../../../helpers/gateway/command-line.ts'
import { eventually, spawnPrimary, startPrimary } from '../../../helpers/gateway/primary.ts'
import { commandOf, processesOf } from '../../../helpers/process-tree.ts'
import { sharedPostgres } from '../../../helpers/store/postgres.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'
import { seededStore } from '../seeded-store.ts'

const CONFIG = fileURLToPath(new URL('../small.yaml', import.meta.url))
const PLUGINS = fileURLToPath(new URL('../../../../plugins', import.meta.url))
const server = await sharedPostgres()

/** The problem that a command printed as JSON, or its fault. */
const parsed = ({ out, err }: CommandResult): unknown => {
  const { problems: [problem] = [], error } = JSON.parse(out || err)
  return problem ?? error
}

t.test('moved store: every later start and command refuses it and says where it went', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 3, charges: 9 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const url = await server.create()
  t.match(await tollgate(['move', '--to', url], env), { code: 0, out: /marked as moved/ })
  const target = storeIdentity(url)
  t.match(target, /^postgres:\/\/[^@]+:\d+\/\w+$/, 'no user and no password')
  t.match(readMoveMark(`${dataFolder}/tollgate.db`), { target })

  const name = 'account 2 é✓'
  const commands = [
    ['accounts', 'credit', name, '50'],
    ['accounts', 'list'],
    ['keys', 'create', name],
    ['usage', '--all'],
    ['audit', 'ledger'],
    ['backup', `${dataFolder}/copy.db`],
    ['restore', `${dataFolder}/tollgate.db`, '--replace'],
    ['check'],
    ['explain', 'GET', '/v1/things'],
    ['lint'],
    ['routes'],
    ['models'],
    ['quote', 'GET', '/v1/things'],
    ['upstreams', 'test'],
    ['move', '--to', await server.create()],
  ]
  for (const command of commands) {
    const { code, err } = await tollgate(command, env)
    t.equal(code, 3, command.join(' '))
    t.ok(err.includes(`was moved to ${target}`), err)
    t.match(err, /--anyway/)
    const json = await tollgate([...command, '--json'], env)
    t.match(parsed(json), { code: 'STORE_MOVED', message: /--anyway/ }, json.err)
  }
  for (const command of [
    ['check', '--format', 'json'],
    ['lint', '--format=json'],
  ]) {
    const { code, out, err } = await tollgate(command, env)
    t.match(JSON.parse(out), { total: 1, problems: [{ code: 'STORE_MOVED', line: 2 }] })
    t.match({ code, err }, { code: 3, err: /^$/ })
  }
  t.match(await tollgate(['check', '--format', 'github'], env), { out: /^::error .*STORE_MOVED/ })
  for (const command of [
    ['accounts', '--help'],
    ['lint', '--anyway'],
    ['models', '--anyway'],
  ])
    t.match(await tollgate(command, env), { code: 0 }, command.join(' '))
  t.match(await tollgate(['doctor'], env), { code: 1, out: /was moved to postgres:/ })
  const again = await tollgate(['move', '--to', url], env)
  t.match(again, { code: 3, err: /moved to this database already/ })
  const moved = { ...env, DATABASE_URL: url }
  t.match(await tollgate(['accounts', 'credit', name, '1'], moved), { code: 0 })
  t.match(await tollgate(['accounts', 'list', '--anyway'], env), { code: 0, out: /account 2/ })
  t.match(await tollgate(['accounts', 'list'], env), { code: 3 }, 'a look keeps the mark')

  const files = { 'unused.txt': '' }
  const options = { files, env: { ...env, TOLLGATE_CONFIG: CONFIG } }
  const refused = spawnPrimary(t, options)
  t.equal(await refused.exitCode(), 3, refused.messages())
  t.ok(refused.messages().includes(`was moved to ${target}`), refused.messages())
  const reused = spawnPrimary(t, { ...options, words: ['--anyway'] })
  await eventually(() => / serves/.test(reused.messages()))
  reused.child.kill('SIGTERM')
  t.equal(await reused.exitCode(), 0)
  t.equal(readMoveMark(`${dataFolder}/tollgate.db`), undefined, 'it is in use again')
  t.match(await tollgate(['accounts', 'list'], env), { code: 0 })
})

t.test('moved store: a move that ended before its mark is marked by the next run', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 1, charges: 0 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const url = await server.create()
  t.match(await tollgate(['move', '--to', url], env), { code: 0 })
  removeMoveMark(`${dataFolder}/tollgate.db`)
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /already/ })
  t.match(readMoveMark(`${dataFolder}/tollgate.db`), { target: storeIdentity(url) })
})

t.test('moved store: a move that cannot end marks its source, and is repeated', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 1, charges: 0 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const url = await server.create()
  const { pathname } = new URL(url)
  const ask = (text: string) => server.ask(text, pathname.slice(1))
  await ask(`CREATE TABLE tollgate_move
    (name TEXT PRIMARY KEY, position BIGINT NOT NULL, source TEXT, finished BIGINT)`)
  await ask(
    `CREATE FUNCTION lost() RETURNS trigger AS $$ BEGIN RAISE 'lost'; END $$ LANGUAGE plpgsql`,
  )
  await ask(`CREATE TRIGGER lost BEFORE UPDATE OF finished ON tollgate_move
    FOR EACH ROW EXECUTE FUNCTION lost()`)
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /lost/ })
  t.match(await tollgate(['accounts', 'list'], env), { code: 3, err: /was moved to/ })
  const early = await tollgate(['accounts', 'list'], { ...env, DATABASE_URL: url })
  t.match(early, { code: 3, err: /repeat the move/ }, 'nor does the target serve')
  await ask('DROP TRIGGER lost ON tollgate_move')
  t.match(await tollgate(['move', '--to', url], env), { code: 0 })
  t.match(await tollgate(['accounts', 'list'], { ...env, DATABASE_URL: url }), { code: 0 })
})

t.test('moved store: a command that waited for the end of a move writes nothing', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 1, charges: 0 })
  const file = `${dataFolder}/tollgate.db`
  const lock = openLock(file)
  t.equal(lock.take(), true)
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const credit = tollgate(['accounts', 'credit', 'account 1 é✓', '5'], env)
  const isWriter = (pid: number) => commandOf(pid).includes(`sqlite:${file}`)
  await eventually(() => processesOf(process.pid).some(isWriter))
  writeMoveMark(file, 'postgres://db.internal:5432/x', Date.now())
  lock.close()
  t.match(await credit, { code: 3, err: /was moved to postgres:\/\/db\.internal/ })
})

t.test('one store by symbolic links: one lock, and the mark of a move', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 1, charges: 0 })
  const folder = temporaryFolder(t)
  symlinkSync(dataFolder, `${folder}/data`)
  symlinkSync(`data/tollgate.db`, `${folder}/linked.db`)
  symlinkSync(`${folder}/linked.db`, `${folder}/twice.db`)
  const env = { TOLLGATE_CONFIG: CONFIG, TOLLGATE_DATA: dataFolder }
  const spellings = [
    { ...env, TOLLGATE_DATA: `${folder}/data` },
    { ...env, DATABASE_URL: `sqlite:${folder}/linked.db` },
    { ...env, DATABASE_URL: `sqlite:${folder}/data/../data/tollgate.db` },
    { ...env, DATABASE_URL: `sqlite:${folder}/twice.db` },
  ]
  const gateway = spawnPrimary(t, { files: { 'unused.txt': '' }, env })
  await eventually(() => / serves/.test(gateway.messages()))
  for (const each of spellings)
    t.match(await tollgate(['accounts', 'credit', 'account 1 é✓', '5'], each), { code: 0 })
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exitCode(), 0)
  const lock = openLock(`${dataFolder}/tollgate.db`)
  t.equal(lock.take(), true)
  for (const each of spellings.slice(1)) {
    const { code, err } = await tollgate(['restore', `${folder}/linked.db`, '--replace'], each)
    t.match({ code, err }, { code: 3, err: /another program uses the store/ })
  }
  lock.close()
  writeMoveMark(`${folder}/twice.db`, 'postgres://db.internal:5432/x', Date.now())
  for (const each of [env, ...spellings])
    t.match(await tollgate(['accounts', 'list'], each), { code: 3, err: /was moved to/ })
})

t.test('other store: a command beside a gateway that uses another one refuses', async t => {
  const url = await server.create()
  const routes = (database: string) =>
    `settings:\n  listen: 127.0.0.1:0\n  admin: 127.0.0.1:0\n  workers: 1\n  plugins: ['${PLUGINS}']\n  database: '${database}'\npipeline: [auth, meter]\nroutes: []\n`
  const gateway = await startPrimary(t, {
    files: { 'routes.yaml': routes('${DATABASE_URL:-sqlite:}') },
    env: { DATABASE_URL: url },
  })
  // The account exists once the first start has printed its key.
  await gateway.until(/An admin account was created/)
  const config = `${gateway.folder}/routes.yaml`
  const dataFolder = `${gateway.folder}/data`
  const shell = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: dataFolder }
  const right = { ...shell, DATABASE_URL: url }
  t.match(await tollgate(['accounts', 'credit', 'admin', '1'], right), { code: 0 })
  for (const command of [
    ['accounts', 'credit', 'admin', '50'],
    ['accounts', 'list'],
  ]) {
    const { code, err } = await tollgate(command, shell)
    t.equal(code, 3)
    t.ok(err.includes(storeIdentity(url)), err)
    t.ok(err.includes(`sqlite:${dataFolder}/tollgate.db`), err)
  }
  t.match(await tollgate(['doctor'], shell), { code: 1, out: /uses the store postgres:/ })
  // The same database by other spellings, as the gateway's lock there shows.
  const { username, password, port, pathname } = new URL(url)
  for (const spelled of [
    `${url}?application_name=x`,
    url.replace('127.0.0.1', '127.0.0.1,127.0.0.1'),
    `postgres://${username}:${password}@/${pathname.slice(1)}?host=${server.folder}&port=${port}`,
  ]) {
    t.match(await tollgate(['accounts', 'list'], { ...shell, DATABASE_URL: spelled }), { code: 0 })
    const doctor = await tollgate(['doctor'], { ...shell, DATABASE_URL: spelled })
    t.notMatch(doctor.out, /uses the store/)
  }
  // Another schema of it, by the address and by the user.
  const database = pathname.slice(1)
  const schema = `${url}?options=-c%20search_path%3Daside`
  for (const text of [
    'CREATE SCHEMA aside',
    `CREATE ROLE ${database} SUPERUSER LOGIN PASSWORD '${password}'`,
    `ALTER ROLE ${database} SET search_path = aside`,
  ])
    await server.ask(text, database)
  const others = [schema, url.replace(username, database)]
  for (const other of others) {
    const empty = await tollgate(['accounts', 'list'], { ...shell, DATABASE_URL: other })
    t.match(empty, { code: 3, err: /uses the store|has no tables/ })
  }
  const tables = "SELECT 1 FROM pg_tables WHERE schemaname = 'aside'"
  t.same(await server.ask(tables, database), [], 'a command makes no tables')
  await server.ask('CREATE TABLE aside.tollgate_clients (LIKE public.tollgate_clients)', database)
  for (const other of others) {
    const { code, err } = await tollgate(['accounts', 'list'], { ...shell, DATABASE_URL: other })
    t.equal(code, 3)
    t.match(err, /would use postgres:.*aside/)
  }
  gateway.child.kill('SIGSTOP')
  const stopped = await tollgate(['accounts', 'credit', 'admin', '50'], shell)
  gateway.child.kill('SIGCONT')
  t.match(stopped, { code: 3, err: /uses the store/ }, 'a gateway that does not answer runs, too')
  gateway.child.kill('SIGKILL')
  await gateway.exitCode()
  const { err } = await tollgate(['accounts', 'list'], shell)
  t.notMatch(err, /The gateway that runs/, 'a gateway that crashed holds nobody up')
})

t.test('store identity: hosts and name of a database, the file of an embedded store', async t => {
  const same = [
    'postgres://ann:pw@db.internal/tollgate',
    'postgresql://bob@db.internal:5432/tollgate?sslmode=require',
    'postgres://db.internal/tollgate',
  ]
  t.same(
    new Set(same.map(url => storeIdentity(url))),
    new Set(['postgres://db.internal:5432/tollgate']),
  )
  t.equal(storeIdentity('postgres://b,a:6000/x'), 'postgres://a:6000,b:5432/x')
  t.equal(storeIdentity('postgres:///x?host=/run/pg'), 'postgres:///run/pg:5432/x')
  t.equal(
    storeIdentity('postgres://ann@a/x?options=-c%20search_path%3Dsales'),
    'postgres://a:5432/x?search_path=sales',
  )
  t.equal(storeIdentity('sqlite:', '/nowhere/data'), 'sqlite:/nowhere/data/tollgate.db')
})
