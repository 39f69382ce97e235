/** Opens PostgreSQL as a store: every process connects by itself, and several machines are one installation. */
import type { Sql, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import type { DatabaseOptions, OpenDatabase } from '../open-database.ts'
import { pagesOf } from '../pages.ts'
import { ProcessFolder } from '../process-folder.ts'
import { folderOf, Progress } from '../progress.ts'
import { Commits } from './commits.ts'
import { Phrases } from './dialect-cache.ts'
import { migrate, prepareStore } from './migrate.ts'
import { Reads } from './reads.ts'
import { awayFault, isLasting } from './refused-statement.ts'
import { parsed } from './session.ts'

const NOW: Sql = {
  name: 'store now',
  text: 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now',
}
const PATIENCE = 1_000
const OPENING = 5_000
const AGAIN = 100

export const openPostgres = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  const { patience = PATIENCE, opening = OPENING } = options
  const url = checked(options.url)
  await prepare(url, opening)
  const phrases = new Phrases()
  const commits = new Commits({ url, patience, phrases })
  const reads = new Reads({ url, patience, phrases })
  const { data } = options
  const { key } = commits.client
  const folder = data === undefined ? undefined : new ProcessFolder(data)
  const progress = data === undefined ? undefined : new Progress(folderOf(data), String(key))
  const close = async (): Promise<void> => {
    await Promise.all([commits.close(), reads.close()])
    progress?.close()
    folder?.close()
  }
  try {
    await commits.client.open(opening)
  } catch (error) {
    await close()
    throw openingFault(error)
  }
  const read = (sql: Sql, values: readonly Value[]) => reads.read(sql, values)
  return {
    write: statements => commits.write(statements),
    read,
    pages: (sql, values, size) => pagesOf(read, sql, values, size),
    now: async () => Number((await read(NOW, []))[0]?.now),
    migrate: (owner, migrations) =>
      migrate({ url, within: opening }, owner, migrations).catch(error => {
        throw isStoreFault(error) ? error : awayFault(error)
      }),
    process: { key, folder },
    will(name, statements) {
      commits.will(name, statements)
      if (statements.length === 0) progress?.drop(name)
    },
    progress: (name, count) => progress?.note(name, count),
    close,
  }
}

/** Only reads; of a store that may not even be there. */
export const readPostgres = (url: string): Pick<OpenDatabase, 'read' | 'close'> =>
  new Reads({ url: checked(url), patience: PATIENCE, phrases: new Phrases() })

const prepare = async (url: string, opening: number): Promise<void> => {
  const until = performance.now() + opening
  for (;;) {
    const left = until - performance.now()
    try {
      return await prepareStore({ url, within: Math.max(1, left) })
    } catch (error) {
      if (isLasting(error) || 'status' in (error as object) || left < AGAIN)
        throw openingFault(error)
    }
    await new Promise(resolve => setTimeout(resolve, AGAIN))
  }
}
const isStoreFault = (error: unknown): error is Error =>
  String((error as { code?: string }).code).startsWith('STORE_')
/** Whoever starts a gateway wants to know why it does not start. */
const openingFault = (error: unknown): Error => {
  const { code, message } = error as { code?: string; message: string }
  return isStoreFault(error)
    ? error
    : // Of a name with several addresses that all refuse, the error has no words.
      fault('STORE_START', [message || code])
}

/** Whatever is wrong with it, its password is not said. */
const checked = (url: string): string => {
  if (!parsed(url)) throw fault('STORE_URL', [url.replace(/\/\/.*@/, '//…@')])
  return url
}
