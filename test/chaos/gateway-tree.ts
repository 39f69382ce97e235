/** The whole gateway as its own process group, which can be killed in part or as a whole and
 *  restarted on its folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  findRunning,
  type RunningGateway,
  requestStatus,
} from '../../engine/processes/running-gateway.ts'
import { usedFolder } from '../helpers/cache.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { cachedCommand, operatorEnv } from '../helpers/operator.ts'

export const KINDS = ['worker', 'all', 'primary'] as const

export interface Tree {
  readonly data: string
  /** The current URL of the gateway. */
  url(): string
  output(): string
  /** Starts the gateway; processes of a killed one may still run. */
  start(): Promise<void>
  /** Kills processes of this kind; `chance` picks one of several. Resolves when the signal is
   *  sent. */
  kill(kind: string, chance: () => number): Promise<void>
  /** Resolves when the gateway serves with all workers. */
  untilRecovered(): Promise<void>
  /** Sends the signal to every process. */
  signal(name: NodeJS.Signals): void
  /** Resolves when all processes ended. */
  stop(): Promise<void>
  remove(): void
}

const PROGRAM = fileURLToPath(new URL('../../engine/bin.cjs', import.meta.url))
const PLUGINS = fileURLToPath(new URL('../../plugins', import.meta.url))

/** `database` is its URL, `more` its further environment, `plugins` its own plugin sources by file
 *  name, and `own` further settings. */
export const createTree = (
  routes: string,
  database: string,
  more: Readonly<Record<string, string>>,
  plugins: Readonly<Record<string, string>> = {},
  own: Readonly<Record<string, unknown>> & { readonly workers?: number } = {},
): Tree => {
  const { workers = 2 } = own
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-chaos-'))
  const store = usedFolder(join(folder, 'data'))
  const settings = { ...own, listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers, data: store }
  const hasPlugins = Object.keys(plugins).length > 0
  const folders = hasPlugins ? [PLUGINS, 'plugins'] : [PLUGINS]
  const text = JSON.stringify({ ...settings, database, plugins: folders })
  if (hasPlugins) mkdirSync(join(folder, 'plugins'))
  for (const [name, source] of Object.entries(plugins))
    writeFileSync(join(folder, 'plugins', name), source)
  writeFileSync(join(folder, 'routes.yaml'), `settings: ${text}\n${routes}`)
  const groups: number[] = []
  let child: ChildProcess | undefined
  let output = ''
  const readyGateway = async (): Promise<RunningGateway | undefined> => {
    if (child?.exitCode !== null) throw new Error(`the gateway ended:\n${output}`)
    const gateway = findRunning(store)
    if (!gateway || gateway.pid !== child.pid) return undefined
    const answer = await fetch(`${gateway.admin}/-/ready`).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.ok ? gateway : undefined
  }
  const servingPids = async (): Promise<number[] | undefined> => {
    const gateway = await readyGateway()
    const view = gateway && (await requestStatus(gateway).catch(() => undefined))
    const pids = view?.workers.filter(({ state }) => state === 'serving').map(({ pid }) => pid)
    return pids?.length === workers ? pids : undefined
  }
  const signal = (group: number, name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-group, name)
    } catch {
      return false
    }
  }
  process.once('exit', () => groups.map(group => signal(group, 'SIGKILL')))
  return {
    data: store,
    url: () => findRunning(store)?.url ?? '',
    output: () => output,
    async start() {
      const env = operatorEnv({ ...more, TOLLGATE_CONFIG: 'routes.yaml', NO_COLOR: '1' })
      child = spawn(...cachedCommand(PROGRAM, 'start'), {
        cwd: folder,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      groups.push(child.pid ?? 0)
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text: string) => {
          output = (output + text).slice(-100_000)
        })
      await eventually(servingPids)
    },
    async kill(kind, chance) {
      const pid = child?.pid ?? 0
      const exit = child && once(child, 'exit')
      // The writer of a primary that was killed before may still run.
      if (kind === 'all') for (const group of groups) signal(group, 'SIGKILL')
      else if (kind === 'primary') process.kill(pid, 'SIGKILL')
      if (kind === 'all' || kind === 'primary') return void (await exit)
      const workers = await eventually(servingPids)
      const victim = workers[Math.floor(chance() * workers.length)] ?? 0
      process.kill(kind === 'worker' ? victim : await eventually(() => writerOf(pid)), 'SIGKILL')
      if (kind === 'worker')
        await eventually(async () =>
          (await servingPids())?.includes(victim) === false ? true : undefined,
        )
    },
    signal(name) {
      for (const group of groups) signal(group, name)
    },
    untilRecovered: async () => void (await eventually(servingPids)),
    async stop() {
      if (child?.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        await exit
      }
      await eventually(() => (groups.some(group => signal(group, 0)) ? undefined : true))
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const writerOf = (pid: number): number | undefined => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const isWriter = (each: string): boolean => {
    try {
      return readFileSync(`/proc/${each}/cmdline`, 'utf8').includes('writer.ts')
    } catch {
      return false
    }
  }
  const writerPid = children.find(isWriter)
  return writerPid === undefined ? undefined : Number(writerPid)
}
