/** The process that alone writes the embedded SQLite: `node writer.ts <url> [durability]`, forked.
 *  It outlives its parent until the last client is gone, so that streams under way can still be
 *  settled. */
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { type Address, locate, makeFolders } from '../address.ts'
import type { Durability } from '../open-database.ts'
import { prepareStore } from './migrate.ts'
import { createQueue, type Queue } from './queue.ts'
import { attend } from './session.ts'
import { isBusy, openForWriting, type Sqlite } from './sqlite.ts'

// ms in which a client of the writer before this one may repeat its lists.
const REPEATABLE = 600_000
const LOCK_POLL = 25

/** Says it to the parent, or to the log where there is none. */
const tell = (message: { readonly type: string; readonly [key: string]: unknown }): void => {
  if (process.connected) process.send?.(message, () => {})
  else if (message.type !== 'ready') process.stderr.write(`${JSON.stringify(message)}\n`)
}
const warn = (message: string): void => tell({ type: 'warning', message })
const fail = (error: unknown): void => {
  const { code, message } = error as { code?: string; message: string }
  tell({ type: 'failed', code, message })
  process.exitCode = 3
  if (process.connected) process.disconnect?.()
}

/** Held by the kernel for as long as this process lives, so it can be neither stale nor held twice.
 *  */
const holdLock = async (address: Address): Promise<DatabaseSync> => {
  const lock = new DatabaseSync(`${address.file}.lock`, { timeout: 0 })
  for (let tries = 0; ; tries++) {
    try {
      lock.exec('BEGIN EXCLUSIVE')
      return lock
    } catch (error) {
      if (!isBusy(error)) throw error
      // A command, or a gateway on its way out, writes at present: its socket serves until we take
      // over.
      if (tries === 0) tell({ type: 'ready', socket: address.socket, standby: true })
      if (tries > 0 && !process.connected) process.exit(0)
      await new Promise(resolve => setTimeout(resolve, LOCK_POLL))
    }
  }
}

const serve = (address: Address, store: Sqlite, lock: DatabaseSync): void => {
  const clients = new Map<string, Socket>()
  const sockets = new Set<Socket>()
  // After a failed fsync nobody knows what the disk holds: a fresh process reads the log again.
  const fatal = (error: unknown): void => {
    warn(String(error))
    process.exit(3)
  }
  const queue = createQueue(store, fatal)
  const leave = (): void => {
    queue.flush()
    server.close()
    store.close()
    lock.close()
    process.exit(0)
  }
  const leaveIfDone = (): void => {
    if (!process.connected && sockets.size === 0) leave()
  }
  const server = createServer(socket => {
    sockets.add(socket)
    attend(socket, store, queue, {
      arrived: client => clients.set(client, socket),
      gone(client = '', bye) {
        sockets.delete(socket)
        if (clients.get(client) === socket && clients.delete(client)) {
          queue.forgetAll(client)
          if (bye) queue.withdraw(client)
        }
        leaveIfDone()
      },
    })
  })
  rmSync(address.socket, { force: true })
  server.listen(address.socket, () => {
    tell({ type: 'ready', socket: address.socket })
    // The parent may have left while we stood by.
    leaveIfDone()
  })
  forgetAbsent(queue, clients)
  process.on('message', (message: { type?: string }) => message.type === 'stop' && leave())
  // A terminal or a supervisor signals the whole group, but the store must be the last to go.
  for (const event of ['disconnect', 'SIGINT', 'SIGTERM']) process.on(event, leaveIfDone)
}

/** Clients of the writer before this one that have not come back repeat nothing any more. */
const forgetAbsent = (queue: Queue, clients: ReadonlyMap<string, Socket>): void => {
  const before = queue.known()
  const forget = () => {
    for (const client of before) if (!clients.has(client)) queue.forgetAll(client)
  }
  setTimeout(forget, REPEATABLE).unref()
}

const start = async (url: string, durability: Durability): Promise<void> => {
  const address = locate(url)
  makeFolders(address)
  // The database, its log and the socket are for our own eyes.
  process.umask(0o177)
  const lock = await holdLock(address)
  const store = openForWriting(address.file, durability)
  prepareStore(store)
  serve(address, store, lock)
}
const [url = '', durability = ''] = process.argv.slice(2)
start(url, durability === 'process' ? 'process' : 'power').catch(fail)
