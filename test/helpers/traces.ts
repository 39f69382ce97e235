/** A gateway's processes and files on its machine. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A process and all its descendants. */
export const processesOf = (pid: number): readonly number[] => {
  const threads = readdirSync(`/proc/${pid}/task`)
  const children = threads.flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap(child => processesOf(Number(child)))]
}
/** Every file of a folder, except compiled code in its cache, which all tests share. */
export const filesIn = (folder: string, deep = true): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.name === 'cache') return filesIn(path, false)
    if (entry.isDirectory()) return deep ? filesIn(path) : []
    return entry.isFile() ? [path] : []
  })
