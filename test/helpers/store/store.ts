/** Opens a real store in its own folder: real SQLite, a real writer process, and clients in their
 *  own processes. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Migration, Sql, Statement, Value } from '../../../engine/plugin.ts'
import {
  type Address,
  type DatabaseOptions,
  locate,
  type OpenDatabase,
  openDatabase,
} from '../../../engine/store/database.ts'
import type { Durability } from '../../../engine/store/open-database.ts'
import { inMemory } from '../in-memory.ts'
import { scaled } from '../machine-speed.ts'
import { forkProgram, measuredCommand } from '../operator.ts'
import { sharedPostgres } from './postgres.ts'

export interface Store {
  readonly data: string
  readonly address: Address
  /** The current writer process. */
  writer: ChildProcess
  open(options?: Partial<DatabaseOptions>): Promise<OpenDatabase>
  /** Starts another writer, after the last one was killed. */
  respawn(): Promise<void>
  kill(): Promise<void>
}

export const temporaryFolder = (t: Test): string => {
  const folder = mkdtempSync(join(inMemory(), 'tollgate-store-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Milliseconds; ten times that of a gateway, because disk and processor of a test machine may be
 *  busy. */
const PATIENCE = scaled(10_000)
const WRITER = new URL('../../../engine/store/sqlite/writer.ts', import.meta.url)
const startWriter = async (
  address: Address,
  durability: Durability = 'power',
): Promise<ChildProcess> => {
  const writer = forkProgram(WRITER, [address.url, durability], { command: measuredCommand })
  const [message] = (await once(writer, 'message')) as [{ type: string; message?: string }]
  if (message.type !== 'ready') throw new Error(message.message)
  return writer
}

export const startStore = async (t: Test, durability?: Durability): Promise<Store> => {
  const folder = temporaryFolder(t)
  const address = locate('sqlite:', folder)
  const open: OpenDatabase[] = []
  const store: Store = {
    data: folder,
    address,
    writer: await startWriter(address, durability),
    async open(options = {}) {
      const database = await openDatabase({
        url: 'sqlite:',
        data: folder,
        writeTimeout: PATIENCE,
        ...options,
      })
      open.push(database)
      return database
    },
    async respawn() {
      store.writer = await startWriter(address, durability)
    },
    async kill() {
      const exit = once(store.writer, 'exit')
      store.writer.kill('SIGKILL')
      await exit
    },
  }
  t.teardown(async () => {
    for (const database of open) await database.close()
    if (store.writer.exitCode !== null || store.writer.signalCode !== null) return
    const exit = once(store.writer, 'exit')
    store.writer.kill('SIGCONT')
    store.writer.send({ type: 'stop' })
    await exit
  })
  return store
}

/** A store client in its own process, called over IPC. */
export interface StoreClient {
  readonly process: ChildProcess
  call(method: string, ...args: unknown[]): Promise<unknown>
  kill(): Promise<void>
}
export const startClient = async (t: Test, options: DatabaseOptions): Promise<StoreClient> => {
  const child = forkProgram(new URL('./store-client.ts', import.meta.url), [
    JSON.stringify({ writeTimeout: PATIENCE, ...options }),
  ])
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  let last = 0
  return {
    process: child,
    async call(method, ...args) {
      const id = ++last
      child.send({ id, method, args })
      for (;;) {
        const [reply] = (await once(child, 'message')) as [
          { id: number; result?: unknown; error?: { code: string; message: string } },
        ]
        if (reply.id !== id) continue
        if (reply.error) throw Object.assign(new Error(reply.error.message), reply.error)
        return reply.result
      }
    },
    async kill() {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}

export const ENGINES = ['sqlite', 'postgres'] as const
export type Engine = (typeof ENGINES)[number]
/** A store of either engine, with the interface that plugins use. */
export interface AnyStore {
  readonly engine: Engine
  /** Options for opening it in another process. */
  readonly options: DatabaseOptions
  open(options?: Partial<DatabaseOptions>): Promise<OpenDatabase>
}
export const startAnyStore = async (t: Test, engine: Engine): Promise<AnyStore> => {
  if (engine === 'sqlite') {
    const { data, open } = await startStore(t)
    return { engine, options: { url: 'sqlite:', data }, open }
  }
  const server = await sharedPostgres()
  const url = await server.create()
  return openAt(t, { url, data: temporaryFolder(t) })
}
/** Opens stores of both engines with these tables. Call it before the first test of a file: tap
 *  ends a file that has no work left. */
export const startBoth = (t: Test, tables: readonly Migration[]) =>
  Promise.all(
    ENGINES.map(async engine => {
      const store = await startAnyStore(t, engine)
      const database = await store.open()
      await database.migrate('test', tables)
      return { engine, store, database }
    }),
  )
/** A store on the test's own server. */
export const openAt = (t: Test, options: DatabaseOptions): AnyStore => {
  const open: OpenDatabase[] = []
  t.teardown(() => Promise.all(open.map(database => database.close())))
  return {
    engine: 'postgres',
    options,
    async open(more = {}) {
      const database = await openDatabase({ writeTimeout: PATIENCE, ...options, ...more })
      open.push(database)
      return database
    },
  }
}

export const sql = (name: string, text: string): Sql => ({ name, text })
export const statement = (
  name: string,
  text: string,
  values: readonly Value[] = [],
  more: Partial<Statement> = {},
): Statement => ({ sql: { name, text }, values, ...more })
