/** Starts a real PostgreSQL server, one per test process: in a temporary folder, with fsync on. It
 *  ends with this process. Servers that tests share are in memory where there is room: tests ask
 *  what the server answers, not what its disk keeps. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { CACHE } from '../cache.ts'
import { eventually, PATIENCE } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { inMemory } from '../in-memory.ts'

export interface PostgresServer {
  readonly port: number
  readonly password: string
  /** Folder of its unix socket. */
  readonly folder: string
  /** Makes an empty database. Resolves to its URL, on loopback and with a password. */
  create(): Promise<string>
  /** Queries as the superuser. */
  ask(text: string, database?: string): Promise<pg.QueryResult['rows']>
  /** Signals the server and all its processes. */
  signal(name: NodeJS.Signals): void
  /** Ends the server at once, as a crash does. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Restarts the server with a setting that it reads only at its start. */
  restartWith(setting: string): Promise<void>
  /** Replaces the databases of this stopped server by a copy of those of `primary`, and starts it
   *  as a standby. */
  follow(primary: PostgresServer): Promise<void>
}

const USER = 'tollgate'
const MISSING =
  'PostgreSQL is not installed here, and half of the store cannot be tested without it: apt-get install postgresql'

// The kernel closes this pipe when the test process ends: then the shell ends the server, even a
// stopped one, and removes its folder.
const KEEPER = `
trap '' INT TERM HUP
while read -r word setting; do
  case $word in
    start) "$@" $setting & pid=$! ;;
    stop) kill -QUIT $pid; wait $pid; echo stopped ;;
  esac
done
for each in $(cat /proc/$pid/task/$pid/children) $pid; do kill -CONT $each; done
kill -QUIT $pid
wait $pid
rm -rf "$FOLDER"`

/** The server that all tests of this process share; the first call starts it. */
export const sharedPostgres = (): Promise<PostgresServer> => {
  shared ??= startPostgres(inMemory())
  return shared
}
let shared: Promise<PostgresServer> | undefined
/** A shared server that tests stop and freeze, one test at a time. */
export const faultyPostgres = (): Promise<PostgresServer> => {
  faulty ??= startPostgres(inMemory())
  return faulty
}
let faulty: Promise<PostgresServer> | undefined

/** Starts a server. */
export const startPostgres = async (place = tmpdir()): Promise<PostgresServer> => {
  const programs = findPrograms()
  const folder = mkdtempSync(join(place, 'tollgate-pg-'))
  const password = randomBytes(9).toString('hex')
  const port = await freePort()
  const owner = ownerOf(folder)
  initialize(programs, folder, owner)
  const keeper = startKeeper(programs, folder, port, owner)
  const server: PostgresServer = {
    port,
    password,
    folder,
    async create() {
      const name = `t${randomBytes(6).toString('hex')}`
      await server.ask(`CREATE DATABASE ${name}`)
      return `postgres://${USER}:${password}@127.0.0.1:${port}/${name}`
    },
    async ask(text, database = 'postgres') {
      const client = new pg.Client({ host: folder, port, user: USER, database })
      // The server may stop during the query.
      client.on('error', () => {})
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    },
    signal(name) {
      for (const pid of processesOf(folder)) {
        try {
          process.kill(pid, name)
        } catch {
          // The connection has ended in between.
        }
      }
    },
    async stop() {
      keeper.stdin?.write('stop\n')
      await waitForWord(keeper, 'stopped')
    },
    async start() {
      keeper.stdin?.write('start\n')
      await waitForAnswer(server)
    },
    async restartWith(setting) {
      await server.stop()
      keeper.stdin?.write(`start -c${setting}\n`)
      await waitForAnswer(server)
    },
    async follow(primary) {
      rmSync(join(folder, 'data'), { recursive: true, force: true })
      const from = ['-h', primary.folder, '-p', String(primary.port), '-U', USER]
      const args = ['-D', join(folder, 'data'), ...from, '-R', '-X', 'stream', '-c', 'fast']
      await promisify(execFile)(join(programs, 'pg_basebackup'), args, { ...owner, env: PLAIN })
      await server.start()
    },
  }
  await server.start()
  await server.ask(`ALTER ROLE ${USER} PASSWORD '${password}'`)
  return server
}

const findPrograms = (): string => {
  const places = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
  ]
  const folder = places.find(place =>
    ['initdb', 'postgres', 'pg_basebackup'].every(each => existsSync(join(place, each))),
  )
  if (folder === undefined) throw new Error(MISSING)
  return folder
}
/** PostgreSQL refuses to run as root. */
const ownerOf = (folder: string): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const entry = /^(?:postgres|nobody):[^:]*:(\d+):(\d+)/m.exec(readFileSync('/etc/passwd', 'utf8'))
  const [uid, gid] = [Number(entry?.[1] ?? 65534), Number(entry?.[2] ?? 65534)]
  chownSync(folder, uid, gid)
  return { uid, gid }
}
/** Makes an empty data folder. Making one costs more than the server's whole run, so the first one
 *  of this checkout is kept as a template, and the others are copies. */
const initialize = (programs: string, folder: string, owner: object): void => {
  const program = join(programs, 'initdb')
  const hash = createHash('sha256').update(`${program} ${statSync(program).mtimeMs} ${ARGS}`)
  const template = join(CACHE, `postgres-${hash.digest('hex').slice(0, 16)}`)
  const store = join(folder, 'data')
  if (existsSync(template)) return copy(template, store)
  const secret = join(folder, 'password')
  writeFileSync(secret, randomBytes(9).toString('hex'))
  execFileSync(program, [...ARGS, `--pwfile=${secret}`, '-D', store], {
    ...owner,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: PLAIN,
  })
  mkdirSync(CACHE, { recursive: true })
  const own = `${template}.${process.pid}`
  copy(store, own)
  try {
    renameSync(own, template)
  } catch {
    // Another process has made it first.
    rmSync(own, { recursive: true, force: true })
  }
}
/** Only initdb runs without fsync. */
const ARGS = [
  '--no-sync',
  '--username',
  USER,
  '--locale=C',
  '--encoding=UTF8',
  '--auth-local=trust',
  '--auth-host=scram-sha-256',
]
/** Copies with owners: the files belong to another user. */
const copy = (from: string, to: string): void =>
  void execFileSync('cp', ['-a', from, to], { stdio: ['ignore', 'ignore', 'pipe'] })
/** Without the test runner's variables; with messages in one language. */
const PLAIN = { PATH: process.env.PATH ?? '', LC_ALL: 'C' }

const startKeeper = (
  programs: string,
  folder: string,
  port: number,
  owner: object,
): ChildProcess => {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: 'on',
    shared_buffers: '16MB',
    max_connections: 200,
    autovacuum: 'off',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [join(programs, 'postgres'), '-D', join(folder, 'data'), ...args]
  const keeper = spawn('sh', ['-c', KEEPER, 'sh', ...server], {
    ...owner,
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...PLAIN, FOLDER: folder },
    // A ^C ends the tests, not the server.
    detached: true,
  })
  // The server must not keep this process alive.
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout]) (pipe as { unref?(): void } | null)?.unref?.()
  return keeper
}
const waitForWord = (keeper: ChildProcess, word: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`PostgreSQL has not ${word}`)), PATIENCE)
    keeper.stdout?.once('data', () => {
      clearTimeout(late)
      resolve()
    })
  })
const waitForAnswer = async (server: PostgresServer): Promise<void> => {
  let refusal: unknown
  const look = () =>
    server.ask('SELECT 1').then(
      () => true,
      error => {
        refusal = error
        return false
      },
    )
  await eventually(look, { failure: () => `PostgreSQL does not answer: ${refusal}` })
}
const processesOf = (folder: string): number[] => {
  const [pid = ''] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.trim().split(' ')].map(Number)
}
