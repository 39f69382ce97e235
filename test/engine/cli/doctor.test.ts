/** `tollgate doctor`: each check with its bad and its good case; the facts of a real folder. */
import { chmodSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { describeStore } from '../../../engine/cli/doctor/describe-store.ts'
import { diagnose } from '../../../engine/cli/doctor/diagnosis.ts'
import type { Facts } from '../../../engine/cli/doctor/facts.ts'
import { certificateOf } from '../../helpers/gateway/certificate.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const GOOD: Facts = {
  node: '26.10.0',
  platform: 'linux',
  openFiles: 65_536,
  now: NOW,
  env: {},
  data: {
    path: '/data',
    exists: true,
    writable: true,
    mode: 0o700,
    freeBytes: 2 ** 40,
    freePercent: 60,
    isNetwork: false,
    newestFile: NOW - 1,
  },
  running: undefined,
  ports: [{ setting: 'listen', address: '127.0.0.1:8080', error: undefined }],
  store: { kind: 'SQLite', name: '/data/tollgate.db', version: '3.51.3', exists: true, ahead: 0 },
  secretFiles: [{ path: '/.env', mode: 0o600 }],
}
const dataWith = (part: Partial<Facts['data']>): Partial<Facts> => ({
  data: { ...GOOD.data, ...part },
})
const store = (part: Partial<Facts['store']>): Partial<Facts> => ({
  store: { ...GOOD.store, ...part },
})
const port = (error: string): Partial<Facts> => ({
  ports: [{ setting: 'admin', address: '127.0.0.1:9090', error }],
})

type Bad = readonly [check: string, state: string, change: Partial<Facts>, advice: RegExp]
const BAD: readonly Bad[] = [
  ['node', 'failure', { node: '22.4.0' }, /install Node 24\.18\.1 or newer/],
  ['data folder', 'failure', dataWith({ writable: false }), /set settings\.data/],
  ['data folder', 'failure', dataWith({ isNetwork: true }), /local disk/],
  ['data folder', 'warning', dataWith({ mode: 0o777 }), /chmod go-w \/data/],
  ['disk', 'failure', dataWith({ freeBytes: 2 ** 20 }), /free some space now/],
  ['disk', 'warning', dataWith({ freeBytes: 2 ** 30 }), /larger disk/],
  ['open files', 'failure', { openFiles: 64 }, /LimitNOFILE/],
  ['open files', 'warning', { openFiles: 1_024 }, /LimitNOFILE/],
  ['clock', 'failure', dataWith({ newestFile: NOW + 3_600_000 }), /NTP/],
  ['clock', 'warning', store({ ahead: -9_000 }), /NTP/],
  ['ports', 'failure', port('EADDRINUSE'), /end the other program, or change settings\.admin/],
  ['ports', 'failure', port('EACCES'), /CAP_NET_BIND_SERVICE/],
  ['store', 'failure', store({ error: 'file is not a database' }), /tollgate restore/],
  ['store', 'failure', store({ kind: 'PostgreSQL', error: 'ECONNREFUSED' }), /DATABASE_URL/],
  [
    'gateway',
    'failure',
    { running: { pid: 7, otherStore: { running: 'one', here: 'another' } } },
    /give commands the variables of the gateway/,
  ],
  ['secrets', 'failure', { secretFiles: [{ path: '/.env', mode: 0o644 }] }, /chmod 600 \/\.env/],
  ['proxies', 'warning', { env: { HTTPS_PROXY: 'http://p' } }, /`proxy: URL`/],
  ['proxies', 'failure', { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }, /unset it/],
]

t.test('doctor: finds nothing in a good environment', async t => {
  t.same(
    diagnose(GOOD).filter(({ state }) => state !== 'ok'),
    [],
  )
  const running = diagnose({
    ...GOOD,
    ...port('EADDRINUSE'),
    running: { pid: 7 },
  })
  t.ok(
    running.every(({ state }) => state === 'ok'),
    'the ports are those of the own gateway',
  )
  const openFilesOf = (openFiles: number) =>
    diagnose({ ...GOOD, openFiles }).find(({ check }) => check === 'open files')?.text
  t.equal(openFilesOf(65_536), 'at most 65536 open files for each process')
  t.equal(openFilesOf(Number.MAX_SAFE_INTEGER), 'no limit of open files')
})

t.test('doctor: names each bad case alone, and what to do', async t => {
  for (const [check, state, change, advice] of BAD) {
    const findings = diagnose({ ...GOOD, ...change }).filter(each => each.state !== 'ok')
    t.match(findings, [{ check, state, advice }], `${check}: ${advice}`)
    t.equal(findings.length, 1)
  }
  const checks = new Set(BAD.map(([check]) => check))
  const all = diagnose(GOOD).map(({ check }) => check)
  t.same(
    all.filter(check => !checks.has(check)),
    [],
    'every check has a bad case',
  )
})

t.test('doctor: reads folder, ports, store and modes of files from the machine', async t => {
  const folder = t.testdir({
    'routes.yaml':
      "settings: { data: './data', listen: '${LISTEN}', admin: '127.0.0.1:0' }\nroutes: []\n",
    '.env': 'A=1',
  })
  mkdirSync(`${folder}/data`, { mode: 0o700 })
  chmodSync(`${folder}/.env`, 0o600)
  const busyServer = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => busyServer.once('listening', resolve))
  t.teardown(() => busyServer.close())
  const { port } = busyServer.address() as AddressInfo
  const run = async (listen = '127.0.0.1:0', more = {}) => {
    const yaml = `${folder}/routes.yaml`
    const env = { LISTEN: listen, TOLLGATE_CONFIG: yaml, ...more }
    const cwd = process.cwd()
    process.chdir(folder)
    const { code, out } = await tollgate(['doctor', '--json'], env).finally(() =>
      process.chdir(cwd),
    )
    const findings = JSON.parse(out) as { check: string; state: string; text: string }[]
    const bad = findings.filter(({ state }) => state === 'failure').map(({ check }) => check)
    return { code, bad, findings }
  }
  t.match(await run(), { code: 0, bad: [] })
  t.match(await run(`127.0.0.1:${port}`), { code: 1, bad: ['ports'] })
  chmodSync(`${folder}/.env`, 0o644)
  t.match(await run(), { code: 1, bad: ['secrets'] })
  chmodSync(`${folder}/.env`, 0o640)
  t.match(await run(), { code: 0, bad: [] }, 'a group may read it')
  const yaml = readFileSync(`${folder}/routes.yaml`, 'utf8')
  const { cert, key } = certificateOf(t, 'localhost')
  const secretsWith = async (text: string) => {
    const tls = "tls: { cert: '${file:cert.pem}', key: '${file:cert.pem}' }"
    writeFileSync(`${folder}/cert.pem`, text, { mode: 0o644 })
    writeFileSync(`${folder}/routes.yaml`, yaml.replace('settings: {', `settings: { ${tls},`))
    return (await run()).bad
  }
  t.same(await secretsWith(cert), ['configuration'], 'a certificate is public, and has no key')
  t.same(await secretsWith(cert + key), ['secrets'])
  writeFileSync(`${folder}/routes.yaml`, yaml)
  writeFileSync(
    `${folder}/data/tollgate.db`,
    'no database, but some text of more than one page'.repeat(99),
    {
      mode: 0o600,
    },
  )
  t.match(await run(), { code: 1, bad: ['store'] })
  const future = (Date.now() + 7_200_000) / 1_000
  utimesSync(`${folder}/data/tollgate.db`, future, future)
  t.match(await run(), { code: 1, bad: ['clock', 'store'] })
  t.ok(statSync(`${folder}/data`).isDirectory())
  const refused = 'postgres://me:secret-word@127.0.0.1:1/none'
  writeFileSync(
    `${folder}/routes.yaml`,
    `settings: { data: data, listen: '127.0.0.1:0', admin: '127.0.0.1:0', database: '${refused}' }\nroutes: []\n`,
  )
  const postgres = await run()
  t.same(postgres.bad, ['clock', 'store'])
  t.notMatch(JSON.stringify(postgres.findings), /secret-word/)
  const { out } = await tollgate(['doctor', '-c', `${folder}/routes.yaml`])
  t.match(out, /FAILURE +store[\s\S]*do: is the server running/)
})

t.test('doctor: says why a store cannot be reached or read, without its password', async t => {
  const folder = t.testdir({ 'tollgate.db': 'no database' })
  const unreachable = await describeStore('postgres://ann:secret@127.0.0.1:1/books', folder)
  t.match(unreachable, { kind: 'PostgreSQL', name: 'postgres://…@127.0.0.1:1/books', error: /./ })
  for (const url of [
    'postgres://ann:se/cret@127.0.0.1:1/books',
    'postgres://ann:se@cret@127.0.0.1:1/books',
  ])
    t.notMatch(JSON.stringify(await describeStore(url, folder)), /cret/, url)
  t.match(await describeStore('sqlite:', folder), { kind: 'SQLite', error: /not a database/ })
  const file = `${folder}/damaged.db`
  const store = new DatabaseSync(file)
  store.exec('CREATE TABLE a (b); CREATE INDEX c ON a (b); INSERT INTO a VALUES (1), (2), (3)')
  store.close()
  // The index loses an entry: the number of cells in the head of its page.
  const bytes = readFileSync(file)
  const page = bytes.length / 3
  bytes.writeUInt16BE(2, 2 * page + 3)
  writeFileSync(file, bytes)
  const described = await describeStore(`sqlite:${file}`, folder)
  t.match(described, { error: /the file is damaged/ })
})
