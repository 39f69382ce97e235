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

/** ms. */
const START = 30_000

const filler = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => make(index))

/** JSON is YAML, and a config of ten thousand names is not meant for eyes. */
const configuration = (size: Size, upstream: number): string => {
  const own = Object.values(NAMES)
  const chain = {
    ...{ auth: 'key', validate: SCHEMA, model: 'body' },
    ...{ translate: 'openai-chat', errors: 'openai' },
  }
  const document = {
    settings: {
      ...{ listen: '127.0.0.1:${PORT}', admin: '127.0.0.1:0', workers: 1 },
      ...{ data: '${TOLLGATE_DATA}', plugins: [join(root, 'plugins')] },
    },
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
  }
  return JSON.stringify(document, null, 1)
}

const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Whether a worker answers: the port is open before one does. */
const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(500) }).then(
    () => true,
    () => false,
  )

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
  }
  const tollgate = (...args: string[]): string =>
    execFileSync(process.execPath, [program, ...args], { env, encoding: 'utf8' })
  tollgate('accounts', 'create', 'bench')
  const { key } = JSON.parse(tollgate('keys', 'create', 'bench', '--json'))
  const log = openSync(join(folder, 'tollgate.log'), 'w')
  const child = spawn(process.execPath, [program, 'start'], { env, stdio: ['ignore', log, log] })
  const late = performance.now() + START
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > late) {
      child.kill('SIGKILL')
      throw new Error(`Tollgate did not start: see ${folder}/tollgate.log`)
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const pid = child.pid ?? 0
  pin(pid, core)
  return { child, pid, port, key }
}
