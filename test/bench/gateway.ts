/** Tollgate as the bench runs it: a configuration of a given size with the full chain, an account with a key, the real program. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, openSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NAMES } from './answers.ts'
import { pin } from './processes.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = join(root, 'engine/bin.cjs')
export const SCHEMA = join(root, 'schemas/chat-completions.json')
export const PATH = '/v1/chat/completions'

export interface Size {
  readonly routes: number
  readonly models: number
}
export interface Gateway {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  readonly key: string
}

const filler = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => make(index))

/** JSON is YAML, and a config of ten thousand names is not meant for eyes. */
const configuration = (size: Size, upstream: number): string => {
  const own = Object.values(NAMES)
  const chain = { auth: 'key', validate: SCHEMA, translate: 'openai-chat', errors: 'openai' }
  return JSON.stringify({
    settings: { plugins: [join(root, 'plugins')] },
    pipeline: ['errors', 'auth', 'validate', 'model', 'limit', 'translate', 'sandbox'],
    upstreams: {
      up: {
        url: `http://127.0.0.1:${upstream}/v1`,
        key: 'sk-upstream-0123456789abcdef',
        formats: ['openai-chat'],
        // As many as there are streams: none may wait for another.
        connections: 4096,
      },
    },
    models: Object.fromEntries([
      ...own.map(name => [name, { to: `up/${name}` }]),
      ...filler(size.models - own.length, index => [`filler-${index}`, { to: 'up/filler' }]),
    ]),
    routes: [
      ...filler(size.routes - 1, index => ({ path: `POST /filler/${index}/{id}`, ...chain })),
      { path: `POST ${PATH}`, ...chain },
    ],
  })
}

const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

export const startGateway = async (
  size: Size,
  upstream: number,
  core: number,
): Promise<Gateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const config = join(folder, 'routes.yaml')
  writeFileSync(config, configuration(size, upstream))
  const port = await freePort()
  const env = {
    ...process.env,
    TOLLGATE_CONFIG: config,
    TOLLGATE_DATA: join(folder, 'data'),
    PORT: String(port),
    ADMIN_PORT: '0',
    WORKERS: '1',
  }
  const tollgate = (...args: string[]): string =>
    execFileSync(process.execPath, [program, ...args], { env, encoding: 'utf8' })
  const account = JSON.parse(tollgate('accounts', 'create', 'bench', '--json'))
  const log = openSync(join(folder, 'log'), 'w')
  const child = spawn(process.execPath, [program, 'start'], { env, stdio: ['ignore', log, log] })
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`Tollgate did not start: see ${folder}/log`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const pid = child.pid ?? 0
  pin(pid, core)
  return { child, pid, port, key: account.key }
}
