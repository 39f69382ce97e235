/** The files of the request log: their names, their order and their removal. */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface LogFile {
  readonly name: string
  readonly path: string
  /** ms since 1970, when the file was made. */
  readonly begin: number
}
/** Bounds of the whole folder. */
export interface LogBounds {
  /** Bytes. */
  readonly size: number
  /** ms. */
  readonly age: number
}

/** The folder of the request log in a data folder. */
export const requestFolder = (data: string): string => join(data, 'requests')

const NAME = /^(\d{13})-\d+-\d+\.jsonl$/
/** A new name: begins with the time, so that names sort by time. `number` differs within a
 *  process. */
export const nameAt = (now: number, pid: number, number: number): string =>
  `${String(now).padStart(13, '0')}-${pid}-${number}.jsonl`

/** Oldest first. A folder that does not exist has no files. */
export const listFiles = (folder: string): LogFile[] => {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .flatMap(name => {
      const begin = NAME.exec(name)?.[1]
      return begin === undefined ? [] : [{ name, path: join(folder, name), begin: Number(begin) }]
    })
    .sort((a, b) => a.begin - b.begin || (a.name < b.name ? -1 : 1))
}

/** Removes the oldest files until the rest is within the bounds. `current`: the file that this
 *  process writes, which stays. Other processes may remove the same files. */
export const pruneFiles = (
  folder: string,
  { size, age }: LogBounds,
  current: string,
  now: number,
): void => {
  const files = listFiles(folder).flatMap(file => {
    const stats = statSync(file.path, { throwIfNoEntry: false })
    return stats ? [{ ...file, bytes: stats.size, end: stats.mtimeMs }] : []
  })
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { path, name, bytes, end } of files) {
    if (name === current || (total <= size && now - end <= age)) continue
    rmSync(path, { force: true })
    total -= bytes
  }
}
