/** Memory of a process and everything it started, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs'

const KIB = 1024

/** Resident bytes of one process tree. */
export const residentOf = (root: number): number => residentTogether(family(root))
const residentTogether = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + resident(pid), 0)

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
