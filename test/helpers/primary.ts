/** Starts the whole process tree on a folder of its own, for tests that edit its files, kill its processes and read its reports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { ConfigView } from '../../engine/processes/admin-listener.ts'
import type { ReloadReport } from '../../engine/processes/reload.ts'
import { usedFolder } from './cache.ts'
import { measured } from './operator.ts'

export interface Primary {
  readonly folder: string
  readonly child: ChildProcess
  readonly url: string
  readonly admin: string
  /** What it told people, and its log. */
  said(): string
  log(): readonly Record<string, unknown>[]
  /** Resolves when it has said so. */
  until(pattern: RegExp): Promise<void>
  write(file: string, text: string): void
  config(): Promise<ConfigView>
  /** Resolves with the first view of its state that fits. */
  state(fits: (view: ConfigView) => boolean): Promise<ConfigView>
  ready(): Promise<number>
  ask(verb: string): Promise<ReloadReport>
  metric(series: string): Promise<number | undefined>
  /** Resolves to its exit code. */
  ended(): Promise<number | null>
  /** Resolves when every process it started has ended as well. */
  gone(): Promise<void>
}
export interface PrimaryOptions {
  readonly files: Readonly<Record<string, string>>
  readonly workers?: number
  readonly env?: Readonly<Record<string, string>>
  /** One that is there already. */
  readonly folder?: string
  /** How many files each process may open. */
  readonly openFiles?: number
  /** What has to be there before it starts, beside the files. */
  prepare?(folder: string): void
}

const PATIENCE = 60_000
const PROGRAM = fileURLToPath(new URL('../../engine/bin.cjs', import.meta.url))

/** Ten times what it should take, and no more. */
export const eventually = async <T>(
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> => {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error('it never came')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export interface Got {
  readonly status: number
  readonly text: string
}
/** One request on a connection of its own, or on one of `agent`'s. */
export const getAlone = (url: string, agent: Agent | false = false): Promise<Got> =>
  new Promise((resolve, reject) => {
    request(url, { agent }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end()
  })

/** Spawns it and does not wait. */
export const spawnPrimary = (t: Test, options: PrimaryOptions) => {
  const { files, workers = 1, env = {} } = options
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'tollgate-'))
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const [file, text] of Object.entries(files)) write(file, text)
  if (!existsSync(join(folder, 'data'))) usedFolder(join(folder, 'data'))
  options.prepare?.(folder)
  const ports = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', WORKERS: String(workers) }
  const limited = `ulimit -n ${options.openFiles ?? '$(ulimit -n)'} && exec "$0" "$@"`
  const child = spawn('sh', ['-c', limited, ...measured(PROGRAM, 'start').flat()], {
    cwd: folder,
    env: {
      ...process.env,
      ...ports,
      TOLLGATE_CONFIG: 'routes.yaml',
      NO_COLOR: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [exit, close] = [once(child, 'exit'), once(child, 'close')]
  let [out, said] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  const ended = async (): Promise<number | null> => (await exit)[0] as number | null
  const log = () =>
    out.split('\n').flatMap(line => (line ? [JSON.parse(line) as Record<string, unknown>] : []))
  const gone = async (): Promise<void> => void (await close)
  return { folder, child, write, ended, gone, log, said: () => said }
}

export const startPrimary = async (t: Test, options: PrimaryOptions): Promise<Primary> => {
  const spawned = spawnPrimary(t, options)
  const { folder, child, said } = spawned
  const { url, admin } = await eventually(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${said()}`)
    try {
      return JSON.parse(readFileSync(join(folder, 'data/run.json'), 'utf8')) as Record<
        'url' | 'admin',
        string
      >
    } catch {
      return undefined
    }
  })
  const config = async () => (await (await fetch(`${admin}/-/config`)).json()) as ConfigView
  return {
    ...spawned,
    ...{ url, admin, config },
    until: async pattern => {
      await eventually(() => pattern.test(said()) || undefined)
    },
    state: fits =>
      eventually(async () => {
        const view = await config()
        return fits(view) ? view : undefined
      }),
    ready: async () => (await fetch(`${admin}/-/ready`)).status,
    ask: async verb =>
      (await (await fetch(`${admin}/-/${verb}`, { method: 'POST' })).json()) as ReloadReport,
    metric: async series => {
      const text = await (await fetch(`${admin}/metrics`)).text()
      const line = text.split('\n').find(each => each.startsWith(`tollgate_${series} `))
      return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
    },
  }
}

const plugin = (name: string): string =>
  readFileSync(new URL(`../fixtures/primary/${name}.ts`, import.meta.url), 'utf8')
const PLUGINS = ['stamp', 'events', 'fault']

/** A small configuration that needs no upstream, its plugins beside it. `text` is what /stamp answers. */
export const folderWith = (text = 'one', more = ''): Readonly<Record<string, string>> => ({
  'routes.yaml': routes(text, more),
  ...Object.fromEntries(PLUGINS.map(name => [`plugins/${name}.ts`, plugin(name)])),
})
export const routes = (text: string, more = ''): string => `settings:
  listen: \${HOST:-127.0.0.1}:\${PORT:-8080}
  admin: 127.0.0.1:\${ADMIN_PORT:-9090}
  workers: \${WORKERS:-auto}
  log: { level: info }
${more}
pipeline: [stamp, events, fault]
routes:
  - { path: GET /stamp, name: stamp, stamp: { text: ${text} } }
  - { path: GET /events, name: events, events: { count: 5, every: 20 } }
  - { path: GET /fault, name: fault, fault: {} }
`
