/** A real PostgreSQL server, one per test process: in a temporary folder, with fsync on, gone with this process however it ends.
 *  Those that tests share are in memory where the machine has room: what a server says is asked of them, not what its disk keeps. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
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
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import pg from 'pg'
import { CACHE } from './cache.ts'

export interface PostgresServer {
  readonly port: number
  readonly password: string
  /** The folder of its unix socket. */
  readonly folder: string
  /** Makes an empty database. Resolves to its url, on loopback and with a password. */
  create(): Promise<string>
  /** As the superuser. */
  ask(text: string, database?: string): Promise<pg.QueryResult['rows']>
  /** Of the server and every process of it. */
  signal(name: NodeJS.Signals): void
  /** Ends it at once, as a crash does. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Started again with a setting that is only read then. */
  restartWith(setting: string): Promise<void>
}

const USER = 'tollgate'
const PATIENCE = 60_000
const MISSING =
  'PostgreSQL is not installed here, and half of the store cannot be tested without it: apt-get install postgresql'

// The pipe from us is closed by the kernel when we are gone: then the server goes too, stopped or not, and its folder.
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

/** The one of this process, started by the first who asks. */
export const sharedPostgres = (): Promise<PostgresServer> => {
  shared ??= startPostgres(inMemory())
  return shared
}
let shared: Promise<PostgresServer> | undefined
/** One that tests stop and freeze, a test at a time. */
export const harmedPostgres = (): Promise<PostgresServer> => {
  harmed ??= startPostgres(inMemory())
  return harmed
}
let harmed: Promise<PostgresServer> | undefined

/** Its hundreds of files cost a disk up to a second of CPU for each server, and as much for each database. */
export const inMemory = (): string => {
  if (!existsSync('/dev/shm')) return tmpdir()
  const { type, bavail, bsize } = statfsSync('/dev/shm')
  return type === TMPFS && bavail * bsize > 2 ** 31 ? '/dev/shm' : tmpdir()
}
const TMPFS = 0x01021994

/** One of your own. */
export const startPostgres = async (place = tmpdir()): Promise<PostgresServer> => {
  const programs = findPrograms()
  const folder = mkdtempSync(join(place, 'tollgate-pg-'))
  const password = randomBytes(9).toString('hex')
  const port = await freePort()
  const owner = ownerOf(folder)
  initialize(programs, folder, owner)
  const keeper = startKeeper(programs, folder, port, owner)
  const server: PostgresServer = {
    ...{ port, password, folder },
    async create() {
      const name = `t${randomBytes(6).toString('hex')}`
      await server.ask(`CREATE DATABASE ${name}`)
      return `postgres://${USER}:${password}@127.0.0.1:${port}/${name}`
    },
    async ask(text, database = 'postgres') {
      const client = new pg.Client({ host: folder, port, user: USER, database })
      // A server that is stopped while we ask.
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
          // A connection that has just ended.
        }
      }
    },
    async stop() {
      keeper.stdin?.write('stop\n')
      await said(keeper, 'stopped')
    },
    async start() {
      keeper.stdin?.write('start\n')
      await answers(server)
    },
    async restartWith(setting) {
      await server.stop()
      keeper.stdin?.write(`start -c${setting}\n`)
      await answers(server)
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
  const found = places.find(place =>
    ['initdb', 'postgres'].every(each => existsSync(join(place, each))),
  )
  if (found === undefined) throw new Error(MISSING)
  return found
}
/** PostgreSQL refuses to run as root. */
const ownerOf = (folder: string): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const entry = /^(?:postgres|nobody):[^:]*:(\d+):(\d+)/m.exec(readFileSync('/etc/passwd', 'utf8'))
  const [uid, gid] = [Number(entry?.[1] ?? 65534), Number(entry?.[2] ?? 65534)]
  chownSync(folder, uid, gid)
  return { uid, gid }
}
/** An empty store. Making one costs more than a server does while it is tested: the first of this copy of the project is kept,
 *  and the others are copies of it. */
const initialize = (programs: string, folder: string, owner: object): void => {
  const program = join(programs, 'initdb')
  const made = createHash('sha256').update(`${program} ${statSync(program).mtimeMs} ${ARGS}`)
  const kept = join(CACHE, `postgres-${made.digest('hex').slice(0, 16)}`)
  const store = join(folder, 'data')
  if (existsSync(kept)) return copy(kept, store)
  const secret = join(folder, 'password')
  writeFileSync(secret, randomBytes(9).toString('hex'))
  execFileSync(program, [...ARGS, `--pwfile=${secret}`, '-D', store], {
    ...owner,
    ...{ cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: PLAIN },
  })
  mkdirSync(CACHE, { recursive: true })
  const own = `${kept}.${process.pid}`
  copy(store, own)
  try {
    renameSync(own, kept)
  } catch {
    // Another process was first.
    rmSync(own, { recursive: true, force: true })
  }
}
/** Only this goes without fsync. */
const ARGS = [
  ...['--no-sync', '--username', USER, '--locale=C', '--encoding=UTF8'],
  ...['--auth-local=trust', '--auth-host=scram-sha-256'],
]
/** With its owner, who is not us. */
const copy = (from: string, to: string): void =>
  void execFileSync('cp', ['-a', from, to], { stdio: ['ignore', 'ignore', 'pipe'] })
/** Nothing of the test runner's, and messages in one language. */
const PLAIN = { PATH: process.env.PATH ?? '', LC_ALL: 'C' }

const startKeeper = (
  programs: string,
  folder: string,
  port: number,
  owner: object,
): ChildProcess => {
  const settings = {
    ...{ port, listen_addresses: '127.0.0.1', unix_socket_directories: folder },
    ...{ fsync: 'on', shared_buffers: '16MB', max_connections: 200, autovacuum: 'off' },
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [join(programs, 'postgres'), '-D', join(folder, 'data'), ...args]
  const keeper = spawn('sh', ['-c', KEEPER, 'sh', ...server], {
    ...owner,
    ...{ cwd: folder, stdio: ['pipe', 'pipe', 'ignore'], env: { ...PLAIN, FOLDER: folder } },
    // A ^C for the tests is not for the server.
    detached: true,
  })
  // It must not keep this process.
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout]) (pipe as { unref?(): void } | null)?.unref?.()
  return keeper
}
const said = (keeper: ChildProcess, word: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`PostgreSQL has not ${word}`)), PATIENCE)
    keeper.stdout?.once('data', () => {
      clearTimeout(late)
      resolve()
    })
  })
const answers = async (server: PostgresServer): Promise<void> => {
  const until = performance.now() + PATIENCE
  for (;;) {
    try {
      await server.ask('SELECT 1')
      return
    } catch (error) {
      if (performance.now() > until) throw error
    }
    await later(20)
  }
}
const processesOf = (folder: string): number[] => {
  const [pid = ''] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.trim().split(' ')].map(Number)
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
