/** The writer process, the only one that writes the embedded SQLite store (`node writer.ts <url>
 *  [durability] [moved]`, forked). It outlives its parent until the last client has disconnected,
 *  so that open streams can still be settled. */
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { locate, makeFolders, type StoreAddress } from '../address.ts'
import { readMoveMark, refuseMoved, removeMoveMark } from '../move/mark.ts'
import type { Durability } from '../open-database.ts'
import { prepareStore } from './migrate.ts'
import { createQueue, type Queue } from './queue.ts'
import { serveClient } from './session.ts'
import { openForWriting, type Sqlite } from './sqlite.ts'
import { openLock, type StoreLock } from './store-lock.ts'

// ms in which clients of the previous writer may repeat lists.
const REPEATABLE = 600_000
const LOCK_POLL = 25

/** Sends a message to the parent, or writes it to stderr if there is none. */
const send = (message: { readonly type: string; readonly [key: string]: unknown }): void => {
  if (process.connected) process.send?.(message, () => {})
  else if (message.type !== 'ready') process.stderr.write(`${JSON.stringify(message)}\n`)
}
const warn = (message: string): void => send({ type: 'warning', message })
const fail = (error: unknown): void => {
  const { code, status, message } = error as { code?: string; status?: number; message: string }
  send({ type: 'failed', code, status, message })
  process.exitCode = 3
  if (process.connected) process.disconnect?.()
}

/** Waits for the lock of the store. */
const acquireLock = async (address: StoreAddress): Promise<StoreLock> => {
  const lock = openLock(address.file)
  for (let tries = 0; !lock.take(); tries++) {
    // A CLI command or a gateway that is shutting down has a writer: its socket serves until this
    // process takes over.
    if (tries === 0) send({ type: 'ready', socket: address.socket, standby: true })
    if (tries > 0 && !process.connected) process.exit(0)
    await new Promise(resolve => setTimeout(resolve, LOCK_POLL))
  }
  return lock
}

const serve = (address: StoreAddress, store: Sqlite, lock: StoreLock): void => {
  const clients = new Map<string, Socket>()
  const sockets = new Set<Socket>()
  // After a failed fsync the state of the disk is unknown: a new process reads the log again.
  const fatal = (error: unknown): void => {
    warn(String(error))
    process.exit(3)
  }
  const queue = createQueue(store, fatal)
  const shutDown = (): void => {
    queue.flush()
    server.close()
    store.close()
    lock.close()
    process.exit(0)
  }
  const shutDownIfUnused = (): void => {
    if (!process.connected && sockets.size === 0) shutDown()
  }
  const server = createServer(socket => {
    sockets.add(socket)
    serveClient(socket, store, queue, {
      onHello: client => clients.set(client, socket),
      onMigration: step => process.connected && send({ type: 'migration', step }),
      onClose(client = '', bye) {
        sockets.delete(socket)
        if (clients.get(client) === socket && clients.delete(client)) {
          queue.forgetAll(client)
          if (bye) queue.clearCrashStatements(client)
        }
        shutDownIfUnused()
      },
    })
  })
  rmSync(address.socket, { force: true })
  server.listen(address.socket, () => {
    send({ type: 'ready', socket: address.socket })
    // The parent may have ended while this process was waiting for the lock.
    shutDownIfUnused()
  })
  forgetAbsent(queue, clients)
  process.on('message', (message: { type?: string }) => message.type === 'stop' && shutDown())
  // A terminal or a supervisor signals the whole group, but the writer must end last.
  for (const event of ['disconnect', 'SIGINT', 'SIGTERM', 'SIGQUIT'])
    process.on(event, shutDownIfUnused)
}

/** Forgets the lists of clients that have not reconnected after `REPEATABLE` ms. */
const forgetAbsent = (queue: Queue, clients: ReadonlyMap<string, Socket>): void => {
  const recordedClients = queue.recordedClients()
  const forget = () => {
    for (const client of recordedClients) if (!clients.has(client)) queue.forgetAll(client)
  }
  setTimeout(forget, REPEATABLE).unref()
}

/** Whether a store that was moved is used, refused, or from now on in use again. */
type MovedStore = 'use' | 'refuse' | 'reuse'
const start = async (url: string, durability: Durability, moved: MovedStore): Promise<void> => {
  // Also while it waits for the lock: the writer that has it serves.
  process.on('message', ({ type }: { type?: string }) => type === 'ping' && send({ type: 'pong' }))
  const address = locate(url)
  makeFolders(address)
  // Only the owner may read the database, its log and the socket.
  process.umask(0o177)
  const lock = await acquireLock(address)
  if (moved === 'refuse') refuseMoved(address.file)
  if (moved === 'reuse' && readMoveMark(address.file)) removeMoveMark(address.file)
  const store = openForWriting(address.file, durability)
  prepareStore(store)
  serve(address, store, lock)
}
const [url = '', durability = '', moved = ''] = process.argv.slice(2)
const movedStore = moved === 'refuse' || moved === 'reuse' ? moved : 'use'
start(url, durability === 'process' ? 'process' : 'power', movedStore).catch(fail)
