/** Opens PostgreSQL as the store: every process connects by itself, and several machines form one
 *  installation. */
import type { Sql, Value } from '../../plugin.ts'
import { withoutPassword } from '../address.ts'
import { fault } from '../faults.ts'
import type { DatabaseOptions, OpenDatabase } from '../open-database.ts'
import { pagesOf } from '../pages.ts'
import { OwedLists, ProcessFolder } from '../process-folder.ts'
import { Progress, progressFolder } from '../progress.ts'
import { patient } from '../timeouts.ts'
import { Commits } from './commits.ts'
import { DialectCache } from './dialect-cache.ts'
import { isFinal, isReadOnly, isStoreFault, unavailableFault } from './error-codes.ts'
import { migrate, prepareStore } from './migrate.ts'
import { Reads } from './reads.ts'
import { serversOf } from './servers.ts'
import { isTimeout, parseUrl } from './session.ts'

const NOW: Sql = {
  name: 'store now',
  text: 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now',
}
const WRITE_TIMEOUT = patient(1_000)
const OPEN_TIMEOUT = patient(5_000)
const RETRY_DELAY = 100

export const openPostgres = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  const { writeTimeout = WRITE_TIMEOUT, openTimeout = OPEN_TIMEOUT } = options
  const url = validUrl(options.url)
  await prepareWithRetry(url, openTimeout, options.isMoveTarget)
  const dialects = new DialectCache()
  const server = { url, writeTimeout, newest: { timeline: '' } }
  const commits = new Commits({ ...server, dialects })
  const reads = new Reads({ ...server, dialects })
  const { data } = options
  const { key } = commits.client
  const folder = data === undefined ? undefined : new ProcessFolder(data)
  const progress = data === undefined ? undefined : new Progress(progressFolder(data), String(key))
  const owed = new OwedLists(list => commits.write(list), data, String(key))
  const close = async (): Promise<void> => {
    await owed.close()
    await Promise.all([commits.close(), reads.close()])
    progress?.close()
    folder?.close()
  }
  try {
    await commits.client.open(openTimeout)
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
      migrate({ url, within: openTimeout }, owner, migrations, options.onMigration).catch(error => {
        throw isStoreFault(error) ? error : unavailableFault(error)
      }),
    process: { key, folder },
    setCrashStatements(name, statements) {
      commits.setCrashStatements(name, statements)
      if (statements.length === 0) progress?.clear(name)
    },
    progress: (name, count) => progress?.set(name, count),
    owe(name, lists) {
      void folder?.enter(String(key))
      return owed.owe(name, lists)
    },
    close,
  }
}

/** Opens a store read-only; it need not exist. */
export const readPostgres = (url: string): Pick<OpenDatabase, 'read' | 'close'> =>
  new Reads({
    url: validUrl(url),
    writeTimeout: WRITE_TIMEOUT,
    newest: { timeline: '' },
    dialects: new DialectCache(),
  })

const prepareWithRetry = async (
  url: string,
  openTimeout: number,
  isMoveTarget?: boolean,
): Promise<void> => {
  const until = performance.now() + openTimeout
  let [standby, reason]: unknown[] = []
  for (;;) {
    const remaining = until - performance.now()
    try {
      return await prepareStore({ url, within: Math.max(1, remaining) }, isMoveTarget)
    } catch (error) {
      // A standby may be about to become the primary; the last attempt may be cut short.
      if (isReadOnly(error)) standby = error
      if (!isTimeout(error)) reason = error
      if (isFinal(error) || remaining < RETRY_DELAY) throw openingFault(standby ?? reason ?? error)
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_DELAY))
  }
}
/** The fault that explains a failed start to the operator. */
const openingFault = (error: unknown): Error => {
  const { code, message } = error as { code?: string; message: string }
  return isStoreFault(error)
    ? error
    : // The error has no message if a host name has several addresses and all refuse.
      fault('STORE_START', [message || code])
}

/** Returns the URL. Throws STORE_URL, without the password, if it is invalid. */
const validUrl = (url: string): string => {
  if (!serversOf(url).every(parseUrl)) throw fault('STORE_URL', [withoutPassword(url)])
  return url
}
