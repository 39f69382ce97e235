/** Starts a gateway for a test: the real process tree, or its serving part inside the test's own process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findRunning, type RunningGateway } from '../../engine/processes/running-gateway.ts'
import { usedFolder } from './cache.ts'
import { startInside } from './inside.ts'
import { measured } from './operator.ts'

export interface GatewayOptions {
  /** Text of routes.yaml without its settings. Default: the shipped file as it stands. */
  readonly routes?: string
  /** Lines under `settings:`. */
  readonly settings?: string
  /** Files beside routes.yaml: schemas, plugins. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Its data folder; its own, if none is named. */
  readonly data?: string
  /** Only server and pipeline, in this process: quick to start, no keys, one worker's worth. */
  readonly inside?: boolean
}
export interface TestGateway {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Address of health, metrics and configuration; empty inside. */
  readonly admin: string
  readonly data: string
  /** An admin's, made by the first start. */
  key(): Promise<string>
  output(): string
  /** Puts another text in the place of routes.yaml and resolves when it is served. */
  reload(routes: string): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PATIENCE = 60_000

export const startGateway = async (options: GatewayOptions = {}): Promise<TestGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  const config =
    options.routes === undefined ? join(ROOT, 'routes.yaml') : join(folder, 'routes.yaml')
  for (const [name, text] of Object.entries(options.files ?? {})) place(join(folder, name), text)
  if (options.routes !== undefined) place(config, settled(options, options.routes))
  const started = options.inside
    ? await startInside(config)
    : await startProcess(
        config,
        usedFolder(options.data ?? join(folder, 'data')),
        options.env ?? {},
      )
  return {
    ...started,
    reload: async routes => {
      place(config, settled(options, routes))
      await started.reload()
    },
    stop: async signal => {
      await started.stop(signal)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const place = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Of the shipped plugins they need one, at most. */
const ALONE = /^pipeline: \[(?:errors)?\]$/m

const settled = ({ settings = '', files = {} }: GatewayOptions, routes: string): string => {
  const shipped = ALONE.test(routes) ? 'test/fixtures/errors-only' : 'plugins'
  const folders = [join(ROOT, shipped), ...(Object.keys(files).some(isPlugin) ? ['plugins'] : [])]
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
  env: Readonly<Record<string, string>>,
) => {
  const environment = {
    ...(process.env as Record<string, string>),
    ...{ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', WORKERS: '1', NO_COLOR: '1' },
    ...{ TOLLGATE_CONFIG: config, TOLLGATE_DATA: data },
    ...env,
  }
  const child = spawn(...measured(join(ROOT, 'engine/bin.cjs'), 'start'), {
    cwd: dirname(config),
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A test that throws before its teardown must not leave a gateway behind.
  process.once('exit', () => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const { url, admin } = await running(child, data, () => output)
  return {
    ...{ url, admin, data, pid: child.pid ?? 0, port: Number(new URL(url).port) },
    key: () => shown(child, () => /\b(sk-[A-Za-z0-9]{20,})/.exec(output)?.[1]),
    output: () => output,
    reload: () => reloaded(admin),
    stop: async (signal: NodeJS.Signals = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, 'exit')
    },
  }
}

/** What the first start prints once, behind the banner. */
const shown = async (child: ChildProcess, look: () => string | undefined): Promise<string> => {
  const late = AbortSignal.timeout(PATIENCE)
  for (;;) {
    const found = look()
    if (found !== undefined) return found
    if (child.stderr && child.stdout)
      await Promise.race([
        once(child.stdout, 'data', { signal: late }),
        once(child.stderr, 'data', { signal: late }),
      ])
  }
}

/** Where it serves: announced in its data folder, and ready. */
const running = async (
  child: ChildProcess,
  data: string,
  output: () => string,
): Promise<RunningGateway> => {
  const deadline = Date.now() + PATIENCE
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the gateway ended:\n${output()}`)
    const found = findRunning(data)
    if (found && (await isReady(found.admin))) return found
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  child.kill()
  throw new Error(`the gateway did not get ready:\n${output()}`)
}
const isReady = async (admin: string): Promise<boolean> => {
  const response = await fetch(`${admin}/-/ready`).catch(() => undefined)
  await response?.arrayBuffer()
  return response?.ok ?? false
}

const reloaded = async (admin: string): Promise<void> => {
  const response = await fetch(`${admin}/-/reload`, { method: 'POST' })
  if (!response.ok) throw new Error(await response.text())
}
