/** Starts processes of the bench on their cores, and reads CPU and memory of process trees from
 *  /proc. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const isLinux = process.platform === 'linux'
export const canPin = isLinux && spawnSync('taskset', ['-V']).status === 0

/** Moves a process tree, with processes that it starts later, to one core. */
export const pin = (pid: number, core: number): void => {
  if (!canPin) return
  for (const each of treeOf(pid)) spawnSync('taskset', ['-a', '-c', '-p', `${core}`, `${each}`])
}

export interface Part {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  readonly origin: string
}

/** Starts a process of the bench and waits for its port; the process ends with the bench. `core`:
 *  undefined for any. */
export const start = async (
  file: string,
  core: number | undefined,
  args: readonly string[],
): Promise<Part> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { stdio: 'inherit' })
  const pid = child.pid ?? 0
  if (core !== undefined) pin(pid, core)
  const [message] = (await once(child, 'message')) as [{ port?: number }]
  const { port = 0 } = message
  return { child, pid, port, origin: `http://127.0.0.1:${port}` }
}

/** The ids of every process of a tree, without processes that end meanwhile. */
export const treeOf = (pid: number): number[] => {
  const children = (task: string): number[] =>
    read(`/proc/${pid}/task/${task}/children`)
      .split(' ')
      .filter(word => word.trim() !== '')
      .map(Number)
  const tasks = list(`/proc/${pid}/task`)
  return tasks.length === 0 ? [] : [pid, ...tasks.flatMap(children).flatMap(treeOf)]
}

/** User and system time so far, in seconds. /proc counts in hundredths. */
export const cpuOf = (pid: number): number =>
  treeOf(pid).reduce((sum, each) => {
    // The command may hold spaces and brackets: fields are counted from the last bracket.
    const fields = read(`/proc/${each}/stat`).split(') ').at(-1)?.split(' ') ?? []
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100
  }, 0)

/** Resident memory of the tree, in KiB. */
export const residentOf = (pid: number): number =>
  treeOf(pid).reduce((sum, each) => sum + residentIn(each), 0)
/** Resident memory of one process, in KiB. */
export const residentIn = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)

export interface ProcessMemory {
  /** The program that the process runs. */
  readonly role: string
  /** KiB. */
  readonly pss: number
  readonly rss: number
}
/** Memory of each process of a tree: pages that several of them map count once in `pss`. */
export const memoryOf = (pid: number): ProcessMemory[] =>
  treeOf(pid).flatMap(each => {
    const text = read(`/proc/${each}/smaps_rollup`)
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1])
    const role = /\/(\w+)\.[cm]?[tj]s\0/.exec(read(`/proc/${each}/cmdline`))?.[1] ?? 'other'
    return text === '' ? [] : [{ role, pss: field('Pss'), rss: field('Rss') }]
  })

/** Proportional memory of the tree, in KiB. */
export const pssOf = (pid: number): number => memoryOf(pid).reduce((sum, { pss }) => sum + pss, 0)

/** The id of the worker in the tree of a gateway; 0 without one. */
export const workerOf = (pid: number): number =>
  treeOf(pid).find(each => read(`/proc/${each}/cmdline`).includes('/worker.')) ?? 0

/** Memory the kernel holds for TCP, in KiB: both ends of every connection on this machine. */
export const kernelTcp = (): number =>
  4 * Number(/^TCP:.* mem (\d+)/m.exec(read('/proc/net/sockstat'))?.[1] ?? 0)

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
const list = (path: string): string[] => {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
