/** The processes of one data folder. Each listens on its own socket there; the kernel closes it
 *  when the process ends, so that peers detect a crash at once. */
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { makeSocketFolder, socketOf } from './address.ts'
import { makeFolder } from './make-folder.ts'
import { owedKeys, removeOwedOf, writeOwedOf } from './owed/owed-files.ts'
import { progressFolder, readProgress, removeProgress } from './progress.ts'

export { OwedLists } from './owed/owed-lists.ts'

/** Longest connect, ms; a process that has neither accepted nor refused by then is alive. */
const CONNECT_TIMEOUT = 1_000
/** ms after which the socket of a dead process is removed: a peer has reaped it long ago. */
const STALE_AFTER = 7 * 86_400_000

export class ProcessFolder {
  readonly #data: string
  readonly #owing: readonly string[]
  #id: string | undefined
  #ownKey: string | undefined
  #server: Server | undefined
  #entering: Promise<string | undefined> | undefined

  /** `former`: a folder in which processes of earlier versions left owed lists. */
  constructor(data: string, former?: string) {
    this.#data = data
    this.#owing = former === undefined ? [data] : [former, data]
  }
  /** Listens for this process. Resolves to the id of the folder, or to undefined if the folder
   *  cannot be used. */
  enter(key: string): Promise<string | undefined> {
    this.#entering ??= this.#enter(key).finally(() => {
      this.#entering = undefined
    })
    return this.#entering
  }
  async #enter(key: string): Promise<string | undefined> {
    const { id } = this
    if (id === undefined || this.#server) return id
    try {
      const socket = this.#socketOf(key)
      makeSocketFolder(socket)
      const server = createServer(connection => connection.destroy()).unref()
      await new Promise<void>((resolve, reject) => {
        server.on('error', reject)
        // `listen` binds at once: the socket has its mode from the first instant.
        const mask = process.umask(0o177)
        server.listen(socket, resolve)
        process.umask(mask)
      })
      this.#server = server
      this.#ownKey = key
      void this.#removeStale()
      return id
    } catch {
      return undefined
    }
  }
  /** Id of the folder, unique among several machines; undefined if it cannot be written. */
  get id(): string | undefined {
    try {
      this.#id ??= readFolderId(join(this.#data, 'processes'))
    } catch {}
    return this.#id
  }
  /** Whether the process of this key lives; undefined if it has no socket here. */
  async isAlive(key: string): Promise<boolean | undefined> {
    if (key === this.#ownKey) return true
    return new Promise(resolve => {
      const connection = connect(this.#socketOf(key), () => finish(true))
      const timer = setTimeout(() => finish(true), CONNECT_TIMEOUT)
      const finish = (alive: boolean | undefined): void => {
        clearTimeout(timer)
        connection.destroy()
        resolve(alive)
      }
      // ENOENT: no socket. ECONNREFUSED: dead. Other errors: the accept queue of a stopped process
      // is full.
      connection.on('error', ({ code }: NodeJS.ErrnoException) =>
        finish(code === 'ENOENT' ? undefined : code !== 'ECONNREFUSED'),
      )
    })
  }
  /** Progress counts of the exchanges of a process, by name. */
  progressOf(key: string): ReadonlyMap<string, number> {
    return readProgress(progressFolder(this.#data), key)
  }
  /** The keys of processes with owed lists. */
  owedKeys(): readonly string[] {
    return this.#owing.flatMap(owedKeys)
  }
  /** Writes the owed lists of a process that has ended; rejects if the store is away. */
  async writeOwedOf(key: string, context: Parameters<typeof writeOwedOf>[0]): Promise<void> {
    for (const data of this.#owing) await writeOwedOf(context, data, key)
  }
  removeOwedOf(key: string): void {
    for (const data of this.#owing) removeOwedOf(data, key)
  }
  /** Removes the files of a process that was reaped. */
  remove(key: string): void {
    removeProgress(progressFolder(this.#data), key)
    rmSync(this.#socketOf(key), { force: true })
  }
  close(): void {
    // Also removes the socket file.
    this.#server?.close()
    this.#server = undefined
  }
  /** Sockets of processes that were reaped from elsewhere. */
  async #removeStale(): Promise<void> {
    const folder = join(this.#data, 'processes')
    for (const name of readdirSync(folder)) {
      const [key = '', socket] = name.split('.')
      const stats = socket ? statSync(join(folder, name), { throwIfNoEntry: false }) : undefined
      if (!stats || Date.now() - stats.mtimeMs < STALE_AFTER) continue
      if ((await this.isAlive(key)) === false) rmSync(join(folder, name), { force: true })
    }
  }
  #socketOf(key: string): string {
    return socketOf(join(this.#data, 'processes', key))
  }
}

/** Reads the id, or creates it; of several processes at once the first one wins. */
const readFolderId = (folder: string): string => {
  const path = join(folder, 'id')
  makeFolder(folder, 0o700)
  if (existsSync(path)) return readFileSync(path, 'utf8')
  const draft = `${path}-${randomUUID()}`
  writeFileSync(draft, randomUUID(), { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}
