/** Watches that the data folder and the database file in it stay those of the start: a deleted
 *  folder keeps working for the processes that have it open, and loses all they write. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings } from '../../config/settings.ts'
import type { Log } from '../../plugin.ts'
import { isPostgres, locate } from '../../store/database.ts'

/** ms between two checks. */
const INTERVAL = 1_000

export interface StorageWatch {
  /** The defect, with the remedy; undefined while all is well. */
  readonly reason: string | undefined
  close(): void
}

export const watchStorage = (
  { data, database }: Pick<Settings, 'data' | 'database'>,
  log: Log,
): StorageWatch => {
  const paths = [
    ['data folder', resolve(data)] as const,
    ...(isPostgres(database) ? [] : [['database file', locate(database, data).file] as const]),
  ]
  const known = paths.map(([what, path]) => ({ what, path, identity: identityOf(path) }))
  let reason: string | undefined
  const check = (): void => {
    const missing = known.find(({ path, identity }) => identityOf(path) !== identity)
    const now = missing && describe(missing.what, missing.path)
    if (now === reason) return
    reason = now
    if (reason === undefined) log.info({ data }, 'the data folder is back')
    else log.error({ data }, reason)
  }
  const timer = setInterval(check, INTERVAL).unref()
  return {
    get reason() {
      return reason
    },
    close: () => clearInterval(timer),
  }
}

const identityOf = (path: string): string | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats && `${stats.dev}:${stats.ino}`
}
const describe = (what: string, path: string): string => {
  const event = identityOf(path) === undefined ? 'was deleted' : 'was replaced'
  return `the ${what} ${path} ${event} while the gateway uses it, so writes are lost: stop the gateway, restore the ${what} from a backup or move it back, and start again`
}
