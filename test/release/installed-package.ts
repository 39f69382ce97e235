/** The package as a user installs it: built, packed, and unpacked into node_modules of an empty
 *  folder. Its dependencies are links to those of this project. */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { eventually } from '../helpers/eventually.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly files: readonly string[]
}

export interface InstalledPackage {
  readonly folder: string
  /** The report of `npm pack` on the package. */
  readonly pack: {
    readonly size: number
    readonly unpackedSize: number
    readonly files: readonly { readonly path: string }[]
  }
  /** Runs a line of bash in the folder; `node_modules/.bin` is on the path. */
  run(line: string): { readonly status: number | null; readonly text: string }
  /** Starts a gateway by a line of bash; resolves when its output matches. */
  start(line: string, pattern: RegExp): Promise<Gateway>
}
export interface Gateway {
  text(): string
  until(pattern: RegExp): Promise<void>
}

export const installPackage = (t: Test, variables: Record<string, string> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-package-'))
  t.teardown(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
  usedFolder(join(folder, 'data'))
  const pack = unpack(join(folder, 'node_modules/tollgate'))
  for (const name of [...Object.keys(manifest.dependencies), '@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  const { TOLLGATE_PLUGINS: _, ...own } = operatorEnv(variables)
  const bin = join(folder, 'node_modules/.bin')
  mkdirSync(bin)
  symlinkSync('../tollgate/engine/bin.cjs', join(bin, 'tollgate'))
  const runtime = dirname(process.execPath)
  const env = { ...own, PATH: `${bin}:${runtime}:${own.PATH}`, npm_config_offline: 'true' }
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
  const options = { cwd: folder, env, stdio }
  const run: InstalledPackage['run'] = line => {
    const command = plainCommand('bash', '-euo', 'pipefail', '-c', line)
    const { status, stdout, stderr } = spawnSync(...command, { ...options, encoding: 'utf8' })
    return { status, text: stdout + stderr }
  }
  const start: InstalledPackage['start'] = async (line, pattern) => {
    const child = spawn(...plainCommand('bash', '-c', line), options)
    const gateway = readOutput(child)
    t.teardown(() => stop(join(folder, 'data/run.json'), child))
    await gateway.until(pattern)
    return gateway
  }
  return { folder, pack, run, start } satisfies InstalledPackage
}

interface Archive {
  readonly file: string
  readonly pack: InstalledPackage['pack']
}
/** Builds and packs, once for all tests of the process. */
const createPacker = (): (() => Archive) => {
  let archive: Archive | undefined
  return () => {
    archive ??= packProject()
    return archive
  }
}
const packOnce = createPacker()
const packProject = (): Archive => {
  const stage = mkdtempSync(join(tmpdir(), 'tollgate-stage-'))
  process.once('exit', () => rmSync(stage, { recursive: true, force: true }))
  const files = globSync([...manifest.files, 'package.json', 'LICENSE', 'README.md'], {
    cwd: ROOT,
  })
  for (const file of files.filter(each => each !== 'dist'))
    cpSync(join(ROOT, file), join(stage, file), { recursive: true })
  execute(`${manifest.scripts.prepack} '${stage}'`, ROOT)
  const [pack] = JSON.parse(execute('npm pack --ignore-scripts --offline --json', stage))
  return { file: join(stage, pack.filename), pack }
}
/** Unpacks the archive into a folder. */
const unpack = (target: string): InstalledPackage['pack'] => {
  const { file, pack } = packOnce()
  mkdirSync(target, { recursive: true })
  execute(`tar -xzf '${file}' -C '${target}' --strip-components=1`, ROOT)
  return pack
}
const execute = (line: string, cwd: string): string => {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const command = plainCommand('bash', '-euc', line)
  const options = { cwd, env: operatorEnv({ PATH }), encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(...command, options)
  if (status !== 0) throw new Error(`${line}\n${stdout}${stderr}`)
  return stdout
}

const readOutput = (child: ChildProcess): Gateway => {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (text += chunk))
  const until = async (pattern: RegExp): Promise<void> => {
    const look = () => {
      if (pattern.test(text)) return true
      if (child.exitCode !== null) throw new Error(`it ended without ${pattern}:\n${text}`)
      return false
    }
    await eventually(look, { failure: () => `it never said ${pattern}:\n${text}` })
  }
  return { text: () => text, until }
}

/** Stops the gateway by its process id too: npx does not pass signals on. */
const stop = async (file: string, child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const end = once(child, 'exit')
  if (existsSync(file)) process.kill(JSON.parse(readFileSync(file, 'utf8')).pid, 'SIGTERM')
  child.kill('SIGTERM')
  await end
}
