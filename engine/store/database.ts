/** Opens the store by its URL. With embedded SQLite, writes go over the writer's socket and reads run
 *  in a thread, so nothing blocks this event loop. PostgreSQL is loaded only for a postgres: URL. */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import type { Sql, Value } from '../plugin.ts'
import { type Address, isPostgres, locate } from './address.ts'
import { fault } from './faults.ts'
import type { DatabaseOptions, Durability, OpenDatabase } from './open-database.ts'
import { pagesOf } from './pages.ts'
import { ProcessFolder } from './process-folder.ts'
import { newProcessKey } from './process-key.ts'
import { folderOf, Progress } from './progress.ts'
import { Reads } from './sqlite/reads.ts'
import { Link } from './sqlite/store-client.ts'

export { type Address, isPostgres, locate } from './address.ts'
export type { DatabaseOptions, OpenDatabase } from './open-database.ts'

export const openDatabase = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  if (isPostgres(options.url)) {
    const { openPostgres } = await import('./postgres/postgres.ts')
    return openPostgres(options)
  }
  const address = locate(options.url, options.data)
  const writer =
    options.start && !(await answers(address.socket)) ? await startWriter(address) : undefined
  const key = newProcessKey()
  const link = new Link(address.socket, options.patience ?? 1_000, key)
  const reads = new Reads(address.file)
  const folder = new ProcessFolder(dirname(address.file))
  const progress = new Progress(folderOf(dirname(address.file)), link.client)
  const close = async (): Promise<void> => {
    await Promise.all([link.close(), reads.close()])
    progress.close()
    folder.close()
    if (writer) await stop(writer)
  }
  try {
    await link.open(options.opening ?? 5_000)
  } catch (error) {
    await close()
    throw error
  }
  const read = (sql: Sql, values: readonly Value[]) => reads.read(sql, values)
  return {
    write: statements => link.write(statements),
    read,
    pages: (sql, values, size) => pagesOf(read, sql, values, size),
    // All processes of an embedded store share one machine and its clock.
    now: async () => Date.now(),
    migrate: (owner, migrations) => link.migrate(owner, migrations),
    will(name, statements) {
      link.will(name, statements)
      if (statements.length === 0) progress.drop(name)
    },
    process: { key, folder },
    progress: (name, count) => progress.note(name, count),
    close,
  }
}

/** Opens an existing store read-only, without a writer; undefined if there is none. */
export const openForReading = async (
  url: string,
  data?: string,
): Promise<Pick<OpenDatabase, 'read' | 'close'> | undefined> => {
  if (isPostgres(url)) {
    const { readPostgres } = await import('./postgres/postgres.ts')
    return readPostgres(url)
  }
  const { file } = locate(url, data)
  return existsSync(file) ? new Reads(file) : undefined
}

interface WriterOptions {
  readonly output?: 'inherit' | 'ignore'
  readonly durability?: Durability
}
/** Starts the writer process. It sends `{type:'ready', socket}`, or `{type:'failed', code, message}`
 *  and exits. */
export const forkWriter = (
  address: Address,
  { output = 'inherit', durability = 'power' }: WriterOptions = {},
): ChildProcess =>
  fork(new URL('./sqlite/writer.ts', import.meta.url), [address.url, durability], {
    stdio: ['ignore', output, output, 'ipc'],
    // The writer must not inherit a debugger port or a loader of this process.
    execArgv: [],
  })

const startWriter = async (address: Address): Promise<ChildProcess> => {
  // The writer may outlive a command, and its output must not hold the pipe of the command open.
  const writer = forkWriter(address, { output: 'ignore' })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  writer.on('message', (said: { type?: string; message?: string }) => {
    if (said.type === 'ready') resolve()
    if (said.type === 'failed') reject(fault('STORE_START', [said.message]))
  })
  writer.on('exit', code => reject(fault('STORE_START', [`its writer ended with ${code}`])))
  await promise
  return writer
}
/** Disconnects from the writer, which exits with its last client; that may be another process. */
const stop = (writer: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    const late = setTimeout(() => {
      writer.unref()
      resolve()
    }, 250)
    writer.on('exit', () => {
      clearTimeout(late)
      resolve()
    })
    if (writer.connected) writer.disconnect()
    else resolve()
  })
const answers = (socket: string): Promise<boolean> =>
  new Promise(resolve => {
    const tried = connect(socket, () => resolve(true))
    tried.on('connect', () => tried.end())
    tried.on('error', () => resolve(false))
  })
