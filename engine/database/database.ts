/** Opens the store by its url. Embedded SQLite: writes over the writer's socket, reads in a thread, nothing on this loop. */
import { type ChildProcess, fork } from 'node:child_process'
import { connect } from 'node:net'
import type { Database, Migration, Row, Sql, Statement, Value } from '../plugin.ts'
import { type Address, locate } from './address.ts'
import { fault } from './faults.ts'
import { Link } from './link.ts'
import { Reads } from './reads.ts'

export { type Address, locate } from './address.ts'

export interface DatabaseOptions {
  /** `sqlite:` (tollgate.db in the data folder) or `sqlite:path`. */
  readonly url: string
  /** The data folder. */
  readonly data?: string
  /** Whether to run a writer of its own while none is running: for commands. */
  readonly start?: boolean
  /** ms until a write that gets no answer is given up. */
  readonly patience?: number
  /** ms until a writer must have answered for the first time. */
  readonly opening?: number
}
export interface OpenDatabase extends Database {
  /** Runs what is new of an owner's numbered migrations; safe when several processes arrive at once. */
  migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  /** What the store applies if this process dies without another word. The last of a name counts; none withdraws it. */
  will(name: string, statements: readonly Statement[]): void
  close(): Promise<void>
}

export const openDatabase = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  const address = locate(options.url, options.data)
  const writer =
    options.start && !(await answers(address.socket)) ? await startWriter(address) : undefined
  const link = new Link(address.socket, options.patience ?? 1_000)
  const reads = new Reads(address.file)
  const close = async (): Promise<void> => {
    await Promise.all([link.close(), reads.close()])
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
    pages: (sql, values, size) => pages(read, sql, values, size),
    // One machine, one clock.
    now: async () => Date.now(),
    migrate: (owner, migrations) => link.migrate(owner, migrations),
    will: (name, statements) => link.will(name, statements),
    close,
  }
}

/** Starts the process that writes. It says `{type:'ready', socket}`, or `{type:'failed', code, message}` and ends. */
export const forkWriter = (
  address: Address,
  output: 'inherit' | 'ignore' = 'inherit',
  args: readonly string[] = [],
): ChildProcess =>
  fork(new URL('./writer.ts', import.meta.url), [address.url, ...args], {
    stdio: ['ignore', output, output, 'ipc'],
    // A debugger's port or a loader of ours is not the writer's.
    execArgv: [],
  })

const startWriter = async (address: Address): Promise<ChildProcess> => {
  // Its output must not hold a command's pipe open, should another process still need it afterwards.
  const writer = forkWriter(address, 'ignore')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  writer.on('message', (said: { type?: string; message?: string }) => {
    if (said.type === 'ready') resolve()
    if (said.type === 'failed') reject(fault('STORE_START', [said.message]))
  })
  writer.on('exit', code => reject(fault('STORE_START', [`its writer ended with ${code}`])))
  await promise
  return writer
}
/** Lets go of it: it leaves with its last client, and that need not be us. */
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

/** Keyset paging: the first column of a row is what the next page starts after, the last two parameters are that and the size. */
async function* pages(
  read: Database['read'],
  sql: Sql,
  values: readonly Value[],
  size: number,
): AsyncGenerator<readonly Row[]> {
  const before = values.slice(0, -1)
  let after = values.at(-1) ?? null
  for (;;) {
    const rows = await read(sql, [...before, after, size])
    const last = rows.at(-1)
    if (last) yield rows
    if (!last || rows.length < size) return
    after = Object.values(last)[0] ?? null
  }
}
