/** Opens the store by its URL. With embedded SQLite, writes go over the writer's socket and reads
 *  run in a thread, so nothing blocks this event loop. PostgreSQL is loaded only for a postgres:
 *  URL. */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { TollgateError } from '../errors.ts'
import type { Sql, Value } from '../plugin.ts'
import { isPostgres, locate, type StoreAddress } from './address.ts'
import { fault } from './faults.ts'
import {
  type DatabaseOptions,
  DURABILITY,
  type Durability,
  type OpenDatabase,
} from './open-database.ts'
import { pagesOf } from './pages.ts'
import { OwedLists, ProcessFolder } from './process-folder.ts'
import { newProcessKey } from './process-key.ts'
import { Progress, progressFolder } from './progress.ts'
import { Reads } from './sqlite/reads.ts'
import { StoreClient } from './sqlite/store-client.ts'
import { patient } from './timeouts.ts'

export {
  isPostgres,
  locate,
  type StoreAddress as Address,
  socketOf,
  storeIdentity,
  withoutPassword,
} from './address.ts'
export type { DatabaseOptions, OpenDatabase } from './open-database.ts'

export const openDatabase = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  if (isPostgres(options.url)) {
    const { openPostgres } = await import('./postgres/postgres.ts')
    return openPostgres(options)
  }
  const address = locate(options.url, options.data)
  const writer =
    options.start && !(await isWriterListening(address.socket))
      ? await startWriter(address, options.isAnyway ? 'use' : 'refuse')
      : undefined
  const key = newProcessKey()
  const client = new StoreClient(address.socket, options.writeTimeout ?? patient(1_000), key)
  const reads = new Reads(address.file)
  const folder = new ProcessFolder(dirname(address.file), address.linkFolder)
  const progress = new Progress(progressFolder(dirname(address.file)), client.client)
  const owed = new OwedLists(list => client.write(list), dirname(address.file), client.client)
  const close = async (): Promise<void> => {
    await owed.close()
    await Promise.all([client.close(), reads.close()])
    progress.close()
    folder.close()
    if (writer) await releaseWriter(writer.child)
  }
  try {
    // A writer that waited for the lock may refuse the store after it has got it.
    await Promise.race([client.open(options.openTimeout ?? 5_000), writer?.failure].filter(Boolean))
  } catch (error) {
    await close()
    throw error
  }
  const read = (sql: Sql, values: readonly Value[]) => reads.read(sql, values)
  return {
    write: statements => client.write(statements),
    read,
    pages: (sql, values, size) => pagesOf(read, sql, values, size),
    // All processes of an embedded store share one machine and its clock.
    now: async () => Date.now(),
    migrate: (owner, migrations) => client.migrate(owner, migrations),
    setCrashStatements(name, statements) {
      client.setCrashStatements(name, statements)
      if (statements.length === 0) progress.clear(name)
    },
    process: { key, folder },
    progress: (name, count) => progress.set(name, count),
    owe(name, lists) {
      void folder.enter(client.client)
      return owed.owe(name, lists)
    },
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
  /** The treatment of a store that was moved: `use` it unchanged, `refuse` it, or take it into use
   *  again (`reuse`). */
  readonly moved?: 'use' | 'refuse' | 'reuse'
}
/** Starts the writer process. It sends `{type:'ready', socket}`, or `{type:'failed', code,
 *  message}` and exits. */
export const forkWriter = (
  address: StoreAddress,
  { output = 'inherit', durability = DURABILITY, moved = 'refuse' }: WriterOptions = {},
): ChildProcess =>
  fork(new URL('./sqlite/writer.ts', import.meta.url), [address.url, durability, moved], {
    stdio: ['ignore', output, output, 'ipc'],
    // The writer must not inherit a debugger port or a loader of this process.
    execArgv: [],
  })

interface StartedWriter {
  readonly child: ChildProcess
  /** Rejects when the writer fails or ends. */
  readonly failure: Promise<never>
}
const startWriter = async (
  address: StoreAddress,
  moved: 'use' | 'refuse',
): Promise<StartedWriter> => {
  // The writer may outlive a command, and its output must not hold the pipe of the command open.
  const child = forkWriter(address, { output: 'ignore', moved })
  const ready = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<never>()
  // Nobody waits for it once the store is open.
  failed.promise.catch(() => {})
  child.on('message', (message: WriterReport) => {
    if (message.type === 'ready') ready.resolve()
    if (message.type === 'failed') failed.reject(startFault(message))
  })
  child.on('exit', code => failed.reject(fault('STORE_START', [`its writer ended with ${code}`])))
  await Promise.race([ready.promise, failed.promise])
  return { child, failure: failed.promise }
}
interface WriterReport {
  readonly type?: string
  readonly code?: string
  readonly status?: number
  readonly message?: string
}
/** A fault of the store keeps its code. */
const startFault = ({ code, status, message = '' }: WriterReport): Error =>
  code?.startsWith('STORE_') && status !== undefined
    ? new TollgateError(code, status, message)
    : fault('STORE_START', [message])
/** Disconnects from the writer, which exits with its last client; that may be another process. */
const releaseWriter = (writer: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    const timer = setTimeout(() => {
      writer.unref()
      resolve()
    }, 250)
    writer.on('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    if (writer.connected) writer.disconnect()
    else resolve()
  })
/** Whether a gateway or a command uses an embedded store. */
export const isWriterListening = (socket: string): Promise<boolean> =>
  new Promise(resolve => {
    const probe = connect(socket, () => resolve(true))
    probe.on('connect', () => probe.end())
    probe.on('error', () => resolve(false))
  })
