/** A gateway for `tollgate test`: the configuration with other addresses, an empty store and given
 *  or simulated upstreams, in a folder that is removed at the end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMap, parseDocument } from 'yaml'
import { ownPluginFolders } from '../../config/plugins/plugin-folders.ts'
import { fileSource, read } from '../../config/read.ts'
import { errors } from '../../errors.ts'
import { findRunning } from '../../processes/running-gateway.ts'
import type { Terminal } from '../command.ts'
import { settingsOf } from '../load-for-command.ts'

export interface ThrowAwayGateway {
  readonly url: string
  /** An API key with credit. */
  readonly key: string
  stop(): Promise<void>
}
const PROGRAM = fileURLToPath(new URL('../../cli.ts', import.meta.url))
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** ms. */
const START_TIMEOUT = 60_000
const KEY = /\b(sk-[\w-]{16,})/

const fault = errors({
  TEST_GATEWAY: [500, 'the gateway for the cases did not start:\n%s'],
  TEST_FOLDER: [
    400,
    'the configuration includes %s, which is outside of its folder; put it inside to test it',
  ],
})

export const startThrowAwayGateway = async (
  config: string,
  upstreams: Readonly<Record<string, string>>,
  terminal: Terminal,
): Promise<ThrowAwayGateway> => {
  const { env } = terminal
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  let child: ChildProcess | undefined
  const stop = async (atOnce = false): Promise<void> => {
    if (child && child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      // A second signal, of another kind so that both arrive, ends a gateway without draining.
      if (atOnce) child.kill('SIGINT')
      await exit
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
  const interrupt = (_: NodeJS.Signals, number: number): void =>
    void stop(true).finally(() => process.exit(128 + number))
  // Without listeners the signal would end this process only, not the gateway.
  for (const signal of SIGNALS) process.on(signal, interrupt)
  try {
    const copy = mirror(config, folder, upstreams, env)
    shareCache(resolve(settingsOf(config, terminal).data, 'cache'), join(folder, 'data'))
    child = spawn(process.execPath, [PROGRAM, 'start', '-c', copy], {
      env: envOfChild(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const key = await keyOf(child)
    const url = findRunning(join(folder, 'data'))?.url
    if (url === undefined) throw fault('TEST_GATEWAY', ['it wrote no run.json'])
    // Where all upstreams are simulated, the first start gives credit by itself.
    if (Object.keys(upstreams).length > 0) await addCredit(copy, env)
    return { url, key, stop: () => stop() }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The store is that of the copy. */
const envOfChild = (env: Terminal['env']): NodeJS.ProcessEnv => ({
  ...env,
  TOLLGATE_DATA: undefined,
  DATABASE_URL: undefined,
})

/** Links the bundles of the configuration's own data folder: a start without any takes seconds. */
const shareCache = (cache: string, data: string): void => {
  mkdirSync(data, { recursive: true })
  if (existsSync(cache)) symlinkSync(cache, join(data, 'cache'))
}

const CREDIT = ['accounts', 'credit', 'admin', '1000000']
const addCredit = async (config: string, env: Terminal['env']): Promise<void> => {
  const child = spawn(process.execPath, [PROGRAM, ...CREDIT, '-c', config], {
    env: envOfChild(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', chunk => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw fault('TEST_GATEWAY', [output])
}

/** The key that the first start prints. */
const keyOf = (child: ChildProcess): Promise<string> =>
  new Promise((done, fail) => {
    let output = ''
    const timer = setTimeout(() => fail(fault('TEST_GATEWAY', [output])), START_TIMEOUT)
    const end = (): void => {
      clearTimeout(timer)
      fail(fault('TEST_GATEWAY', [output]))
    }
    child.once('exit', end)
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', chunk => {
        output += chunk
        const key = KEY.exec(output)?.[1]
        if (key === undefined) return
        clearTimeout(timer)
        child.off('exit', end)
        done(key)
      })
  })

/** Links to everything beside the configuration, and copies of its YAML files with other settings
 *  and upstreams. Returns the path of the copy. */
const mirror = (
  config: string,
  folder: string,
  upstreams: Readonly<Record<string, string>>,
  env: Terminal['env'],
): string => {
  const { files, root, document } = read(config, fileSource(env))
  const main = basename(config)
  // By their own paths: a link to the folder of shipped plugins would be a second such folder.
  const plugins = ownPluginFolders(document)
    .map(each => resolve(root, each))
    .filter(existsSync)
  const ofMain = { folder, plugins }
  const texts = new Map<string, string>()
  for (const [file, text] of files) {
    const path = resolve(root, file)
    const changed = changedYaml(text, path === resolve(config) ? ofMain : undefined, upstreams)
    if (changed === undefined) continue
    if (!path.startsWith(resolve(root) + sep)) throw fault('TEST_FOLDER', [path])
    texts.set(path.slice(resolve(root).length + 1), changed)
  }
  link(resolve(root), folder, [...texts.keys()])
  for (const [name, text] of texts) writeFileSync(join(folder, name), text)
  return join(folder, main)
}

/** Links the entries of a folder, except those that are written anew. */
const link = (from: string, to: string, newFiles: readonly string[]): void => {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    if (newFiles.includes(name) || name === 'data') continue
    const inside = newFiles.filter(each => each.startsWith(`${name}/`))
    if (inside.length === 0) symlinkSync(join(from, name), join(to, name))
    else
      link(
        join(from, name),
        join(to, name),
        inside.map(each => each.slice(name.length + 1)),
      )
  }
  for (const name of newFiles) mkdirSync(dirname(join(to, name)), { recursive: true })
}

/** Undefined: the file needs no change. `main`: set for the main file. */
const changedYaml = (
  text: string,
  main: { readonly folder: string; readonly plugins: readonly string[] } | undefined,
  upstreams: Readonly<Record<string, string>>,
): string | undefined => {
  const document = parseDocument(text)
  const section = document.get('upstreams')
  if (!main && !isMap(section)) return undefined
  for (const item of isMap(section) ? section.items : []) {
    const name = String(item.key)
    document.setIn(['upstreams', name, 'url'], upstreams[name] ?? 'sandbox:')
    if (upstreams[name] === undefined) document.deleteIn(['upstreams', name, 'provider'])
    document.deleteIn(['upstreams', name, 'key'])
  }
  if (main) {
    const settings = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      public_url: '',
      workers: 1,
      data: join(main.folder, 'data'),
      plugins: main.plugins,
      database: 'sqlite:',
      durability: 'process',
    }
    for (const [name, value] of Object.entries(settings)) document.setIn(['settings', name], value)
    document.deleteIn(['settings', 'tls'])
  }
  return String(document)
}
