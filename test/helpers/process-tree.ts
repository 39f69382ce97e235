/** Memory, processor time, descendants, files and connections of a process tree, from Linux's
 *  /proc. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isCode } from '../../engine/kit.ts'

const KIB = 1024

/** Resident bytes of a process tree. */
export const residentOf = (root: number): number => residentTogether(processTree(root))
const residentTogether = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + resident(pid), 0)

/** Proportional bytes of a process tree: pages that processes share count once. */
export const proportionalOf = (root: number): number =>
  processTree(root).reduce((sum, pid) => sum + proportional(pid), 0)

/** Runs three seconds of load, 32 at a time, so that later measurements do not include the memory
 *  of any load. */
export const warmUp = async (ask: () => Promise<unknown>): Promise<void> => {
  const until = performance.now() + 3_000
  const busy = async (): Promise<void> => {
    while (performance.now() < until) await ask()
  }
  await Promise.all(Array.from({ length: 32 }, busy))
}

/** Measures a tree while `run` runs: the highest growth over the start, in bytes. */
export const growthDuring = async (root: number, run: () => Promise<unknown>): Promise<number> => {
  // Finding the processes costs more than measuring them, so they are found once.
  const pids = processTree(root)
  const before = residentTogether(pids)
  let highest = before
  const look = setInterval(() => {
    highest = Math.max(highest, residentTogether(pids))
  }, 50)
  try {
    await run()
  } finally {
    clearInterval(look)
  }
  return Math.max(highest, residentOf(root)) - before
}

/** Share of one processor that an idle tree uses. */
export const cpuShareDuring = async (root: number, ms: number): Promise<number> => {
  const pids = processTree(root)
  const readTicks = (): number => pids.reduce((sum, pid) => sum + ticksOf(pid), 0)
  const before = readTicks()
  await new Promise(resolve => setTimeout(resolve, ms))
  return ((readTicks() - before) * TICK) / ms
}
/** Milliseconds; the kernel reports processor time in hundredths of a second. */
const TICK = 10
const fieldsOf = (pid: number): readonly string[] =>
  read(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
const ticksOf = (pid: number): number => {
  const fields = fieldsOf(pid)
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}

/** Milliseconds of processor time used by children of this process that ended during `run`. */
export const cpuTimeDuring = async (run: () => Promise<unknown>): Promise<number> => {
  const readTicks = (): number => {
    const fields = fieldsOf(process.pid)
    return Number(fields[13] ?? 0) + Number(fields[14] ?? 0)
  }
  const before = readTicks()
  await run()
  return (readTicks() - before) * TICK
}

const processTree = (root: number): number[] => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc'))
    if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(Number(name)))
  const members = [root]
  for (const member of members)
    for (const [pid, parent] of parents) if (parent === member) members.push(pid)
  return members
}

const read = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // the process has ended
  }
}
const parentOf = (pid: number): number => Number(/\) \S (\d+)/.exec(read(pid, 'stat'))?.[1] ?? 0)
const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0) * KIB

const proportional = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0) * KIB

/** A process and all its descendants. */
export const processesOf = (pid: number): readonly number[] => {
  const threads = readdirSync(`/proc/${pid}/task`)
  const children = threads.flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap(child => processesOf(Number(child)))]
}
/** The words that a process was started with; empty if it has ended. */
export const commandOf = (pid: number): string => read(pid, 'cmdline').replaceAll('\0', ' ')
/** The worker processes of a gateway, by the id of its primary. */
export const workersOf = (primary: number): readonly number[] =>
  processTree(primary).filter(pid => /\/worker\.(?:ts|cjs)/.test(read(pid, 'cmdline')))
/** Every file of a folder, except compiled code in its cache, which all tests share. */
const filesIn = (folder: string, deep = true): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.name === 'cache') return filesIn(path, false)
    if (entry.isDirectory()) return deep ? filesIn(path) : []
    return entry.isFile() ? [path] : []
  })
/** Every file of a folder with its name and bytes; without those that are removed meanwhile. */
export const contentsIn = (folder: string): readonly (readonly [name: string, bytes: Buffer])[] =>
  filesIn(folder).flatMap(path => {
    try {
      return [[basename(path), readFileSync(path)] as const]
    } catch (error) {
      if (isCode(error, 'ENOENT')) return []
      throw error
    }
  })

const ESTABLISHED = '01'

/** Number of open connections of the listener on this port. */
export const openAt = (port: number): number => {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).length
}

/** Resolves when there are at most so many. */
export const untilOpenAt = async (port: number, most: number): Promise<void> => {
  while (openAt(port) > most) await new Promise(resolve => setTimeout(resolve, 50))
}
