/** A folder as a fresh clone has it, with a gateway started the way the README says, and a shell in it. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { operatorEnv, plainly } from '../helpers/operator.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = [
  ...['engine', 'plugins', 'models', 'schemas', 'routes.yaml', 'package.json'],
  // What `npx tap` reads by its settings in package.json.
  ...['code', 'no-domain', 'cache', 'environment'].map(name => `test/helpers/${name}.ts`),
]

export interface Clone {
  readonly folder: string
  /** Runs lines of bash; resolves to what they print, or throws with it. */
  shell(text: string): Promise<string>
  /** `npm start`; resolves when its banner stands. */
  start(more?: Environment): Promise<Voice>
}

const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']

export const clone = async (t: Test): Promise<Clone> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
  for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  usedFolder(join(folder, 'data'))
  const env = environment(await freePort(), await freePort())
  const shell = async (text: string): Promise<string> => {
    const options = ['-euo', 'pipefail', '-O', 'expand_aliases']
    const child = spawn(...plainly('bash', ...options, '-c', local(text, env)), {
      cwd: folder,
      env,
      stdio,
    })
    const voice = voiceOf(child)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`exit ${code} of:\n${text}\n${voice.text()}`)
    return voice.text()
  }
  const start = async (more: Environment = {}) => {
    const child = spawn(...plainly('npm', 'start'), {
      cwd: folder,
      env: { ...env, ...more },
      stdio,
    })
    const voice = voiceOf(child)
    t.teardown(() => stop(folder, child))
    await voice.until(/System token/)
    env.KEY = /API key +(\S+)/.exec(voice.text())?.[1] ?? ''
    env.TOKEN = /System token +(\S+)/.exec(voice.text())?.[1] ?? ''
    return voice
  }
  return { folder, shell, start }
}

/** What a gateway says, and when it has said something. */
export interface Voice {
  text(): string
  until(pattern: RegExp): Promise<void>
}
const voiceOf = (child: ChildProcess): Voice => {
  let text = ''
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      text += chunk
      for (const look of waiting) look()
    })
  return {
    text: () => text,
    until: pattern =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(text)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        child.on('exit', () => reject(new Error(`it ended without ${pattern}:\n${text}`)))
        look()
      }),
  }
}

type Environment = Record<string, string>
/** No path leads to the pinned runtime: npm and the guard find it. */
const environment = (port: number, admin: number): Environment => {
  const folders = (process.env.PATH ?? '').split(':')
  return operatorEnv({
    PATH: folders.filter(folder => !folder.includes('node_modules')).join(':'),
    PORT: String(port),
    ADMIN_PORT: String(admin),
    WORKERS: '1',
    CI: 'true',
    // Compiled code is that of the files where these were copied from.
    NODE_COMPILE_CACHE_PORTABLE: '1',
  })
}

/** The ports that the pages speak of are the reader's; here they may be taken. */
const local = (text: string, { PORT = '', ADMIN_PORT = '' }: Environment): string =>
  text
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${PORT}`)
    .replaceAll('127.0.0.1:9090', `127.0.0.1:${ADMIN_PORT}`)

/** By the process that announced itself: npm stands between. */
const stop = async (folder: string, child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null) return
  const { pid } = JSON.parse(readFileSync(join(folder, 'data/run.json'), 'utf8'))
  process.kill(pid, 'SIGTERM')
  await once(child, 'exit')
}

export const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
