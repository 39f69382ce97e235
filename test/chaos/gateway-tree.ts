/** The whole gateway as its own process group, which can be killed in part or as a whole and
 *  restarted on its folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as later } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  findRunning,
  type RunningGateway,
  requestStatus,
} from '../../engine/processes/running-gateway.ts'
import { CRASHED_ELSEWHERE } from '../../engine/store/reaper.ts'
import { usedFolder } from '../helpers/cache.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { cachedCommand, operatorEnv } from '../helpers/operator.ts'

export const KINDS = ['worker', 'all', 'primary', 'builder'] as const
/** A child process of the primary, by the file that it runs. */
type Part = 'worker' | 'writer' | 'builder'

export interface FolderTakeover {
  /** The id of the crashed gateway's data folder. */
  readonly folder: string
  /** Milliseconds since 1970. */
  readonly at: number
}
export interface Tree {
  readonly data: string
  /** The current URL of the gateway. */
  url(): string
  /** The primary process. */
  pid(): number
  output(): string
  /** The ends of processes of other gateways by this one. */
  takeovers(): readonly FolderTakeover[]
  /** Starts the gateway and resolves when it serves; processes of a killed one may still run. */
  start(): Promise<void>
  /** Starts the gateway without waiting. */
  launch(): void
  /** Kills processes of this kind, which may be starting; `chance` picks one of several. The
   *  builder is killed during a reload. Resolves when the signal is sent. */
  kill(kind: string, chance: () => number): Promise<void>
  /** Resolves when the gateway serves with all workers. */
  untilRecovered(): Promise<void>
  /** Sends the signal to every process. */
  signal(name: NodeJS.Signals): void
  /** Resolves when all processes ended. */
  stop(): Promise<void>
  remove(): void
}

/** ms from the first sight of a builder within which it may be killed. */
const LONGEST_BUILD = 200
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
  /** Process groups that may still run. */
  let groups: readonly number[] = []
  let child: ChildProcess | undefined
  let output = ''
  /** The output since the last start. */
  let lastStart = ''
  const takeovers: FolderTakeover[] = []
  const watchTakeovers = (stream: Readable): void => {
    createInterface({ input: stream }).on('line', line => {
      if (!line.includes(CRASHED_ELSEWHERE)) return
      const { folder, time } = JSON.parse(line) as {
        readonly folder: string
        readonly time: number
      }
      takeovers.push({ folder, at: time })
    })
  }
  /** The process that was killed last: the primary may not have noticed. */
  let victim = 0
  /** Starts during which a process was killed. */
  const harmedStarts: (ChildProcess | undefined)[] = []
  const readyGateway = async (): Promise<RunningGateway | undefined> => {
    const gateway = findRunning(store)
    const isRunning = gateway !== undefined && gateway.pid === child?.pid
    if (child?.exitCode !== null) {
      // A start that a fault ended is repeated, as by a service manager.
      const isHarmed = harmedStarts.at(-1) === child || lastStart.includes('STORE_UNAVAILABLE')
      if (isRunning || !isHarmed) throw new Error(`the gateway ended:\n${output}`)
      launch()
    }
    if (!isRunning) return undefined
    const answer = await fetch(`${gateway.admin}/-/ready`).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.ok ? gateway : undefined
  }
  const servingPids = async (): Promise<number[] | undefined> => {
    const gateway = await readyGateway()
    const view = gateway && (await requestStatus(gateway).catch(() => undefined))
    const pids = view?.workers.filter(({ state }) => state === 'serving').map(({ pid }) => pid)
    return pids?.length === workers && !pids.includes(victim) ? pids : undefined
  }
  const signal = (group: number, name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-group, name)
    } catch {
      return false
    }
  }
  process.once('exit', () => groups.map(group => signal(group, 'SIGKILL')))
  const launch = (): void => {
    const env = operatorEnv({ ...more, TOLLGATE_CONFIG: 'routes.yaml', NO_COLOR: '1' })
    child = spawn(...cachedCommand(PROGRAM, 'start'), {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const starting = child
    lastStart = ''
    groups = [...groups.filter(group => signal(group, 0)), child.pid ?? 0]
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) watchTakeovers(stream)
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-100_000)
        if (child === starting) lastStart = (lastStart + text).slice(-100_000)
      })
    }
  }
  return {
    data: store,
    url: () => findRunning(store)?.url ?? '',
    pid: () => child?.pid ?? 0,
    output: () => output,
    takeovers: () => takeovers,
    async start() {
      launch()
      await eventually(servingPids)
    },
    launch,
    async kill(kind, chance) {
      victim = 0
      const pid = child?.pid ?? 0
      if (findRunning(store)?.pid !== pid) harmedStarts.push(child)
      // A start that was harmed may have ended by itself.
      const exit = child?.exitCode === null ? once(child, 'exit') : undefined
      // The writer of a primary that was killed before may still run.
      if (kind === 'all') for (const group of groups) signal(group, 'SIGKILL')
      else if (kind === 'primary') child?.kill('SIGKILL')
      if (kind === 'all' || kind === 'primary') return void (await exit)
      if (kind === 'builder') appendFileSync(join(folder, 'routes.yaml'), '# edited\n')
      // A start that a fault has ended has no processes to kill.
      const pids = await eventually(() => (isAlive(pid) ? childrenOf(pid, kind as Part) : []))
      if (kind === 'builder') await later(chance() * LONGEST_BUILD)
      victim = pids[Math.floor(chance() * pids.length)] ?? 0
      if (victim === 0) return
      try {
        process.kill(victim, 'SIGKILL')
      } catch {
        // It has ended in between.
      }
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

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}/task/${pid}/children`)
/** The processes that the primary `pid` has started for this part; undefined if there are none. */
const childrenOf = (pid: number, part: Part): readonly number[] | undefined => {
  const isPart = (each: string): boolean => {
    try {
      return new RegExp(`/${part}\\.(?:ts|cjs)\\b`).test(
        readFileSync(`/proc/${each}/cmdline`, 'utf8'),
      )
    } catch {
      return false
    }
  }
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const pids = children.filter(isPart).map(Number)
  return pids.length > 0 ? pids : undefined
}
export const workerOf = (pid: number): number | undefined => childrenOf(pid, 'worker')?.[0]
export const writerOf = (pid: number): number | undefined => childrenOf(pid, 'writer')?.[0]
