/** Memory and processor time of a process and everything it started, as Linux counts them. */
import { readdirSync, readFileSync } from 'node:fs'

const KIB = 1024

/** Resident bytes of one process tree. */
export const residentOf = (root: number): number => residentTogether(family(root))
const residentTogether = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + resident(pid), 0)

/** Three seconds of load by 32 at a time: memory is then what it is under any load, and what is measured behind it is the price
 *  of something else. */
export const warm = async (ask: () => Promise<unknown>): Promise<void> => {
  const until = performance.now() + 3_000
  const busy = async (): Promise<void> => {
    while (performance.now() < until) await ask()
  }
  await Promise.all(Array.from({ length: 32 }, busy))
}

/** Watches a tree while something happens: the highest growth over the start, in bytes. */
export const growthDuring = async (root: number, run: () => Promise<unknown>): Promise<number> => {
  // To look for the members costs more than to look at them.
  const pids = family(root)
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

/** Share of one processor that a tree takes while nobody asks for anything. */
export const busyDuring = async (root: number, ms: number): Promise<number> => {
  const pids = family(root)
  const worked = (): number => pids.reduce((sum, pid) => sum + ticksOf(pid), 0)
  const before = worked()
  await new Promise(resolve => setTimeout(resolve, ms))
  return ((worked() - before) * TICK) / ms
}
/** ms; the kernel reports to programs in hundredths of a second on every machine. */
const TICK = 10
const fieldsOf = (pid: number): readonly string[] =>
  read(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
const ticksOf = (pid: number): number => {
  const fields = fieldsOf(pid)
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}

/** ms of processor time that children of this process took, and have ended since. */
export const workedDuring = async (run: () => Promise<unknown>): Promise<number> => {
  const worked = (): number => {
    const fields = fieldsOf(process.pid)
    return Number(fields[13] ?? 0) + Number(fields[14] ?? 0)
  }
  const before = worked()
  await run()
  return (worked() - before) * TICK
}

const family = (root: number): number[] => {
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
    return '' // ended in between
  }
}
const parentOf = (pid: number): number => Number(/\) \S (\d+)/.exec(read(pid, 'stat'))?.[1] ?? 0)
const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0) * KIB
