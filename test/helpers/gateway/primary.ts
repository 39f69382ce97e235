/** Starts the whole process tree in its own folder, for tests that edit its files, kill its
 *  processes and read its reports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type Agent, request } from 'node:http'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { LiveView, ReloadReport } from '../../../engine/plugin.ts'
import type { SocketRequest } from '../../../engine/processes/admin-socket.ts'
import { findRunning, requestAdmin } from '../../../engine/processes/running-gateway.ts'
import { MEASURED, usedFolder } from '../cache.ts'
import { eventually } from '../eventually.ts'
import { inMemory } from '../in-memory.ts'
import { measuredCommand } from '../operator.ts'

/** A process tree that may not serve yet. */
interface SpawnedPrimary {
  readonly folder: string
  readonly child: ChildProcess
  /** Its messages to the operator (stderr). */
  messages(): string
  /** Its log (stdout). */
  log(): readonly Record<string, unknown>[]
  write(file: string, text: string): void
  /** Resolves with its exit code. */
  exitCode(): Promise<number | null>
  /** Resolves when every process of the tree has ended. */
  allExited(): Promise<void>
}
export interface Primary extends SpawnedPrimary {
  readonly url: string
  readonly admin: string
  /** Sends a request to its admin listener over the socket. */
  askAdmin(path: string, init?: SocketRequest): Promise<Response>
  /** Resolves when its messages match. */
  until(pattern: RegExp): Promise<void>
  config(): Promise<LiveView>
  /** Resolves with the first configuration view that fits. */
  state(fits: (view: LiveView) => boolean): Promise<LiveView>
  ready(): Promise<number>
  ask(verb: string): Promise<ReloadReport>
  metric(series: string): Promise<number | undefined>
}
export interface PrimaryOptions {
  readonly files: Readonly<Record<string, string>>
  readonly workers?: number
  readonly env?: Readonly<Record<string, string>>
  /** Options of `tollgate start`. */
  readonly words?: readonly string[]
  /** An existing folder. */
  readonly folder?: string
  /** Limit of open files of each process. */
  readonly openFiles?: number
  /** Prepares the folder before the start, besides writing the files. */
  prepare?(folder: string): void
}

export { eventually }

const PROGRAM = fileURLToPath(new URL('../../../engine/bin.cjs', import.meta.url))

export interface PlainReply {
  readonly status: number
  readonly text: string
}
/** Sends one request on its own connection, or on one of `agent`. */
export const getAlone = (url: string, agent: Agent | false = false): Promise<PlainReply> =>
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

/** Spawns the tree without waiting. */
/** ms for an orderly end where coverage is measured. */
const STOP_TIMEOUT = 3_000

export const spawnPrimary = (t: Test, options: PrimaryOptions): SpawnedPrimary => {
  const { files, workers = 1, env = {} } = options
  const folder = options.folder ?? mkdtempSync(join(inMemory(), 'tollgate-'))
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const [file, text] of Object.entries(files)) write(file, text)
  if (!existsSync(join(folder, 'data'))) usedFolder(join(folder, 'data'))
  options.prepare?.(folder)
  const ports = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', WORKERS: String(workers) }
  const command = `ulimit -n ${options.openFiles ?? '$(ulimit -n)'} && exec "$0" "$@"`
  const child = spawn(
    'sh',
    ['-c', command, ...measuredCommand(PROGRAM, 'start', ...(options.words ?? [])).flat()],
    {
      cwd: folder,
      env: {
        ...process.env,
        ...ports,
        TOLLGATE_CONFIG: 'routes.yaml',
        NO_COLOR: '1',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const [exit, close] = [once(child, 'exit'), once(child, 'close')]
  let [out, messages] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    messages += text
  })
  t.teardown(async () => {
    // A process that is killed reports no coverage.
    if (MEASURED && child.kill('SIGTERM')) await Promise.race([exit, pause(STOP_TIMEOUT)])
    child.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  const exitCode = async (): Promise<number | null> => (await exit)[0] as number | null
  const log = () =>
    out.split('\n').flatMap(line => (line ? [JSON.parse(line) as Record<string, unknown>] : []))
  const allExited = async (): Promise<void> => void (await close)
  return {
    folder,
    child,
    write,
    exitCode: exitCode,
    allExited: allExited,
    log,
    messages: () => messages,
  }
}

export const startPrimary = async (t: Test, options: PrimaryOptions): Promise<Primary> => {
  const spawnedPrimary = spawnPrimary(t, options)
  const { folder, child, messages: getOutput } = spawnedPrimary
  const running = await eventually(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${getOutput()}`)
    return findRunning(join(folder, 'data'))
  })
  const { url, admin } = running
  const askAdmin: Primary['askAdmin'] = (path, init) => requestAdmin(running, path, init)
  const config = async () => (await (await askAdmin('/-/config')).json()) as LiveView
  return {
    ...spawnedPrimary,
    url,
    admin,
    askAdmin,
    config,
    until: async pattern => {
      await eventually(() => pattern.test(getOutput()) || undefined)
    },
    state: fits =>
      eventually(async () => {
        const view = await config()
        return fits(view) ? view : undefined
      }),
    ready: async () => (await fetch(`${admin}/-/ready`)).status,
    ask: async verb =>
      (await (await askAdmin(`/-/${verb}`, { method: 'POST' })).json()) as ReloadReport,
    metric: async series => {
      const text = await (await fetch(`${admin}/metrics`)).text()
      const line = text.split('\n').find(each => each.startsWith(`tollgate_${series} `))
      return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
    },
  }
}

const plugin = (name: string): string =>
  readFileSync(new URL(`../../fixtures/primary/${name}.ts`, import.meta.url), 'utf8')
const PLUGINS = ['stamp', 'events', 'fault']

/** A small configuration without upstreams, with its plugins. `text`: the answer of /stamp. */
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
