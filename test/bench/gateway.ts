/** Tollgate as the bench runs it: a configuration of a given size with the full chain, an account with a key, the real program. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { usedFolder } from '../helpers/cache.ts'
import { NAMES } from './answers.ts'
import { endow } from './books.ts'
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
  /** The data folder. */
  readonly store: string
}

const filler = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => make(index))

const PRICE = {
  ...{ context: 128_000, output: 16_384 },
  price: { input: '0.15 / 1M', cached: '0.075 / 1M', output: '0.60 / 1M' },
}

/** JSON is YAML, and a config of ten thousand names is not meant for eyes. */
const configuration = (size: Size, upstream: number, data: string, billed: boolean): string => {
  const own = Object.values(NAMES)
  const chain = {
    ...{ auth: 'key', validate: SCHEMA, model: 'body' },
    ...{ translate: 'openai-chat', errors: 'openai' },
  }
  const document = {
    settings: {
      ...{ listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 1, data },
      plugins: [join(root, 'plugins')],
    },
    pipeline: [
      ...['errors', 'auth', 'validate', 'model', 'limit'],
      ...(billed ? ['meter'] : []),
      ...['translate', 'sandbox'],
    ],
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
      ...own.map(name => [name, { to: `up/${name}`, ...(billed && PRICE) }]),
      ...filler(size.models - own.length, index => [
        `filler-${index}`,
        { to: 'up/filler', ...(billed && PRICE) },
      ]),
    ]),
    routes: [
      ...filler(size.routes - 1, index => ({ path: `POST /filler/${index}/{id}`, ...chain })),
      { path: `POST ${PATH}`, ...chain },
    ],
  }
  return JSON.stringify(document, null, 1)
}

/** `billed`: every call has a price, and the account plenty. */
export const startGateway = async (
  size: Size,
  upstream: number,
  core: number,
  billed = false,
): Promise<Gateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  // Beside what is watched, a log that grows would be charged to the watch.
  const config = join(mkdtempSync(join(folder, 'config-')), 'routes.yaml')
  const store = usedFolder(join(folder, 'data'))
  writeFileSync(config, configuration(size, upstream, store, billed))
  const log = openSync(join(folder, 'tollgate.log'), 'w')
  const child = spawn(process.execPath, [program, 'start', '--config', config], {
    stdio: ['ignore', log, 'pipe'],
  })
  closeSync(log)
  child.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const pid = child.pid ?? 0
  const said = await banner(child)
  if (billed) await endow(store)
  pin(pid, core)
  return { child, pid, store, ...said }
}

/** ms. */
const START = 30_000

/** The port and the key of the first start, as an operator reads them. */
const banner = (child: ChildProcess): Promise<{ port: number; key: string }> =>
  new Promise((resolve, reject) => {
    let text = ''
    child.stderr?.on('data', chunk => {
      text += chunk
      const port = /url +http:.*:(\d+)/.exec(text)?.[1]
      const key = /API key +(\S+)/.exec(text)?.[1]
      if (!port || !key) return
      clearTimeout(late)
      resolve({ port: Number(port), key })
    })
    const fail = () => reject(new Error(`Tollgate did not start:\n${text}`))
    child.on('exit', fail)
    const late = setTimeout(() => child.kill(), START)
  })
