/** A copy of the project like a fresh clone, with a gateway started by `npm start`, and a shell. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { isCode } from '../../engine/kit.ts'
import { usedFolder } from '../helpers/cache.ts'
import { freePort } from '../helpers/free-port.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = [
  'engine',
  'examples',
  'plugins',
  'program',
  'models',
  'schemas',
  'routes.yaml',
  'package.json',
  // Files that `npx tap` loads by its settings in package.json.
  ...['code', 'no-domain', 'cache', 'environment'].map(name => `test/helpers/${name}.ts`),
]

export interface Clone {
  readonly folder: string
  /** Runs lines of bash. Resolves to their output; rejects with it when a line fails. */
  shell(text: string): Promise<string>
  /** Runs `npm start`; resolves when its banner is printed. */
  start(more?: Environment): Promise<ProcessOutput>
  /** Ends the gateway that `start` started. */
  stop(): Promise<void>
}

const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']

export const clone = async (t: Test): Promise<Clone> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
  for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  usedFolder(join(folder, 'data'))
  const env = createEnvironment(await freePort(), await freePort())
  let gateway: Gateway | undefined
  const shell = async (text: string): Promise<string> => {
    const options = ['-euo', 'pipefail', '-O', 'expand_aliases']
    const child = spawn(...plainCommand('bash', ...options, '-c', useOwnPorts(text, env)), {
      cwd: folder,
      env,
      stdio,
    })
    const output = readOutput(child)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`exit ${code} of:\n${text}\n${output.text()}`)
    return output.text()
  }
  const start = async (more: Environment = {}) => {
    const child = spawn(...plainCommand('npm', 'start'), {
      cwd: folder,
      env: { ...env, ...more },
      stdio,
      // A group of its own, to end whatever it started.
      detached: true,
    })
    const output = readOutput(child)
    gateway = { child, closed: once(child, 'close') }
    process.once('exit', () => endGroup(child, 'SIGKILL'))
    t.teardown(stop)
    await output.until(/System token/)
    env.KEY = /API key +(\S+)/.exec(output.text())?.[1] ?? ''
    env.TOKEN = /System token +(\S+)/.exec(output.text())?.[1] ?? ''
    return output
  }
  const stop = async () => {
    if (gateway) await stopGateway(folder, gateway)
  }
  return { folder, shell, start, stop }
}

/** The output of a process, and a wait for a pattern in it. */
export interface ProcessOutput {
  text(): string
  /** Rejects with the output if the pattern is not there after a minute. */
  until(pattern: RegExp): Promise<void>
}
const readOutput = (child: ChildProcess): ProcessOutput => {
  let text = ''
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      text += chunk
      for (const check of waiting) check()
    })
  return {
    text: () => text,
    until: pattern =>
      new Promise((resolve, reject) => {
        const fail = (what: string) => () => reject(new Error(`${what} ${pattern}:\n${text}`))
        const deadline = setTimeout(fail('a minute without'), 60_000)
        const check = (): void => {
          if (!pattern.test(text)) return
          waiting.delete(check)
          clearTimeout(deadline)
          resolve()
        }
        waiting.add(check)
        child.on('exit', fail('it ended without'))
        check()
      }),
  }
}

type Environment = Record<string, string>
/** PATH has no pinned runtime: npm and the version guard must find it. */
const createEnvironment = (port: number, admin: number): Environment => {
  const folders = (process.env.PATH ?? '').split(':')
  return operatorEnv({
    PATH: folders.filter(folder => !folder.includes('node_modules')).join(':'),
    PORT: String(port),
    ADMIN_PORT: String(admin),
    WORKERS: '1',
    CI: 'true',
    // The compile cache holds code of the files that were copied.
    NODE_COMPILE_CACHE_PORTABLE: '1',
  })
}

/** Replaces the ports of the pages, which may be in use here. */
const useOwnPorts = (text: string, { PORT = '', ADMIN_PORT = '' }: Environment): string =>
  text
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${PORT}`)
    .replaceAll('127.0.0.1:9090', `127.0.0.1:${ADMIN_PORT}`)

interface Gateway {
  readonly child: ChildProcess
  /** Resolves when all of its processes have ended: each holds the output open. */
  readonly closed: Promise<unknown>
}
/** Stops the gateway by the process id in data/run.json: npm does not pass signals on. One that did
 *  not come so far ends with its group. */
const stopGateway = async (folder: string, { child, closed }: Gateway): Promise<void> => {
  const file = join(folder, 'data/run.json')
  if (existsSync(file)) endProcess(JSON.parse(readFileSync(file, 'utf8')).pid, 'SIGTERM')
  else endGroup(child, 'SIGTERM')
  await closed
}
const endGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid !== undefined) endProcess(-pid, signal)
}
const endProcess = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It has ended.
    if (!isCode(error, 'ESRCH')) throw error
  }
}
