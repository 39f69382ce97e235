/** The files of owed lists, and how the lists of a process that has ended reach the store. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, Log } from '../../plugin.ts'
import { type EncodedStatement, toStatement } from '../values.ts'

/** The store did not take the list, or did not tell. */
const AWAY: ReadonlySet<string> = new Set(['STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'STORE_READ_ONLY'])
export const codeOf = (error: unknown): string =>
  String((error as { readonly code?: unknown } | undefined)?.code)
export const isStoreAway = (error: unknown): boolean => AWAY.has(codeOf(error))

export const owedFolder = (data: string): string => join(data, 'owed')

/** The keys of processes with owed lists in this data folder. */
export const owedKeys = (data: string): readonly string[] => namesIn(owedFolder(data))

/** Writes the owed lists of a process that has ended, in their order. Rejects if the store is away.
 *  Applying a list twice is harmless. */
export const writeOwedOf = async (
  { database, log }: { readonly database: Pick<Database, 'write'>; readonly log: Log },
  data: string,
  key: string,
): Promise<void> => {
  const folder = join(owedFolder(data), key)
  for (const name of namesIn(folder).filter(each => each.endsWith('.json'))) {
    for (const list of readLists(join(folder, name), log))
      try {
        await database.write(list.map(toStatement))
        log.info({ name }, 'a list of an ended process was written')
      } catch (error) {
        if (isStoreAway(error)) throw error
        // It was written before, or the exchange was settled in another way.
        log.debug({ name, error }, 'a list of an ended process was refused')
      }
  }
}
/** Removes the files of a process whose lists were written. */
export const removeOwedOf = (data: string, key: string): void =>
  rmSync(join(owedFolder(data), key), { recursive: true, force: true })

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
const readLists = (path: string, log: Log): readonly (readonly EncodedStatement[])[] => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    log.warn({ path, error }, 'a file of owed lists cannot be read')
    return []
  }
}
