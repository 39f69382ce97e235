/** What a gateway is to the machine it runs on: its processes, and its files. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A process and all that it started. */
export const processesOf = (pid: number): readonly number[] => {
  const threads = readdirSync(`/proc/${pid}/task`)
  const children = threads.flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap(child => processesOf(Number(child)))]
}
/** Every file of a folder. Its cache is that of all tests: what is compiled there is theirs. */
export const filesIn = (folder: string, deep = true): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.name === 'cache') return filesIn(path, false)
    if (entry.isDirectory()) return deep ? filesIn(path) : []
    return entry.isFile() ? [path] : []
  })
