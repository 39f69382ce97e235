/** Starts a gateway for a test: the real process tree, or its serving part inside the test's own
 *  process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { load } from '../../../engine/config/load.ts'
import { SharedResources } from '../../../engine/config/shared-resources.ts'
import { BackgroundCalls } from '../../../engine/egress/background-calls.ts'
import { createLog } from '../../../engine/observe/log.ts'
import { createMetrics } from '../../../engine/observe/metrics.ts'
import type { SocketRequest } from '../../../engine/processes/admin-socket.ts'
import {
  findRunning,
  type RunningGateway,
  requestAdmin,
} from '../../../engine/processes/running-gateway.ts'
import { createLocalAllowances } from '../../../engine/quota/allowance.ts'
import { createGatewayServer } from '../../../engine/server.ts'
import type { Resources } from '../../../engine/snapshot/resources.ts'
import { CACHE, usedFolder } from '../cache.ts'
import { eventually, PATIENCE } from '../eventually.ts'
import { inMemory } from '../in-memory.ts'
import { patientCommand } from '../operator.ts'
import { NEVER_OVERLOADED } from './test-server.ts'

const startInside = async (config: string) => {
  const resources = resourcesOf()
  let version = 0
  const build = async () =>
    (await load({ config, version: ++version, cacheFolder: CACHE, resources, progress() {} }))
      .snapshot
  let current = await build()
  const server = createGatewayServer(() => current, resources, NEVER_OVERLOADED)
  const { port } = await server.listen(0, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: process.pid,
    admin: '',
    askAdmin: () => Promise.reject(new Error('it has no admin listener')),
    data: '',
    key: () => Promise.resolve(''),
    output: () => '',
    reload: async () => {
      const next = await build()
      const previous = current
      current = next
      void previous.retire()
    },
    stop: async () => {
      await server.drain(0)
      await current.retire()
    },
  }
}

const resourcesOf = (): Resources => {
  const absent = (): never => {
    throw new Error('there is no store inside a test')
  }
  return {
    role: 'test',
    log: createLog({ level: 'silent' }),
    metrics: createMetrics(),
    database: {
      write: absent,
      read: absent,
      pages: absent,
      now: () => Promise.resolve(Date.now()),
    },
    shared: new SharedResources(),
    backgroundCalls: new BackgroundCalls(),
    allowances: createLocalAllowances(),
    jobs: { start: absent } as unknown as Resources['jobs'],
    membership: {
      name: absent,
      isCurrent: absent,
      reportExpelled: absent,
      leaving: new AbortController().signal,
      listen() {},
    },
  }
}

interface GatewayOptions {
  /** Text of routes.yaml without its settings. Default: the shipped file. */
  readonly routes?: string
  /** Lines under `settings:`. */
  readonly settings?: string
  /** Files beside routes.yaml: schemas, plugins. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** The least factor of the time limits between its processes, for requests that take one long
   *  step. */
  readonly patience?: number
  /** Data folder; default: a new one. */
  readonly data?: string
  /** Runs only server and pipeline, in this process: starts fast, has no keys, and serves as one
   *  worker. */
  readonly inside?: boolean
}
export interface TestGateway {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Address of health, metrics and configuration; empty inside. */
  readonly admin: string
  /** Sends a request to the admin listener over the socket. */
  askAdmin(path: string, init?: SocketRequest): Promise<Response>
  readonly data: string
  /** Resolves to the admin key that the first start makes. */
  key(): Promise<string>
  output(): string
  /** Replaces routes.yaml; resolves when the new version serves. */
  reload(routes: string): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

export const startGateway = async (options: GatewayOptions = {}): Promise<TestGateway> => {
  const folder = mkdtempSync(join(inMemory(), 'tollgate-'))
  const config =
    options.routes === undefined ? join(ROOT, 'routes.yaml') : join(folder, 'routes.yaml')
  for (const [name, text] of Object.entries(options.files ?? {})) place(join(folder, name), text)
  if (options.routes !== undefined) place(config, withSettings(options, options.routes))
  const server = options.inside
    ? await startInside(config)
    : await startProcess(config, usedFolder(options.data ?? join(folder, 'data')), options)
  return {
    ...server,
    reload: async routes => {
      place(config, withSettings(options, routes))
      await server.reload()
    },
    stop: async signal => {
      await server.stop(signal)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const place = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Configurations that need at most one of the shipped plugins. */
const ALONE = /^pipeline: \[(?:errors)?\]$/m

const withSettings = ({ settings = '', files = {} }: GatewayOptions, routes: string): string => {
  const shippedPlugins = ALONE.test(routes) ? 'test/fixtures/errors-only' : 'plugins'
  const folders = [
    join(ROOT, shippedPlugins),
    ...(Object.keys(files).some(isPlugin) ? ['plugins'] : []),
  ]
  const own = settings
    .split('\n')
    .map(line => `  ${line}\n`)
    .join('')
  return `settings:
  listen: \${HOST:-127.0.0.1}:\${PORT:-0}
  admin: 127.0.0.1:0
  workers: \${WORKERS:-1}
  data: \${TOLLGATE_DATA:-data}
  plugins: ${JSON.stringify(folders)}
${own}${routes}`
}
const isPlugin = (file: string): boolean => file.startsWith('plugins/')

const startProcess = async (
  config: string,
  data: string,
  { env, patience = 1 }: GatewayOptions,
) => {
  const environment = {
    ...(process.env as Record<string, string>),
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    WORKERS: '1',
    NO_COLOR: '1',
    TOLLGATE_CONFIG: config,
    TOLLGATE_DATA: data,
    ...env,
  }
  const child = spawn(...patientCommand(patience, join(ROOT, 'engine/bin.cjs'), 'start'), {
    cwd: dirname(config),
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Ends the gateway of a test that throws before its teardown.
  process.once('exit', () => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const address = await running(child, data, () => output)
  const { url, admin } = address
  const askAdmin: TestGateway['askAdmin'] = (path, init) => requestAdmin(address, path, init)
  return {
    url,
    admin,
    askAdmin,
    data,
    pid: child.pid ?? 0,
    port: Number(new URL(url).port),
    key: () => waitForOutput(child, () => /\b(sk-[A-Za-z0-9]{20,})/.exec(output)?.[1]),
    output: () => output,
    reload: async () => {
      const response = await askAdmin('/-/reload', { method: 'POST' })
      if (!response.ok) throw new Error(await response.text())
    },
    stop: async (signal: NodeJS.Signals = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, 'exit')
    },
  }
}

/** Waits for text that the first start prints once, after the banner. */
const waitForOutput = async (
  child: ChildProcess,
  look: () => string | undefined,
): Promise<string> => {
  const late = AbortSignal.timeout(PATIENCE)
  for (;;) {
    const match = look()
    if (match !== undefined) return match
    if (child.stderr && child.stdout)
      await Promise.race([
        once(child.stdout, 'data', { signal: late }),
        once(child.stderr, 'data', { signal: late }),
      ])
  }
}

/** Waits until the gateway has written its addresses to the data folder and is ready. */
const running = async (
  child: ChildProcess,
  data: string,
  output: () => string,
): Promise<RunningGateway> => {
  const look = async () => {
    if (child.exitCode !== null) throw new Error(`the gateway ended:\n${output()}`)
    const address = findRunning(data)
    return address && (await isReady(address.admin)) && address
  }
  const failure = () => `the gateway did not get ready:\n${output()}`
  try {
    return await eventually(look, { failure })
  } catch (error) {
    child.kill()
    throw error
  }
}
const isReady = async (admin: string): Promise<boolean> => {
  const response = await fetch(`${admin}/-/ready`).catch(() => undefined)
  await response?.arrayBuffer()
  return response?.ok ?? false
}
