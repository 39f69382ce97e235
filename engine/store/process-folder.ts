/** The processes that work on one data folder. Each listens on a socket of its own there; the
 *  kernel closes it when the process ends, however it ends, so that the others know at once who is
 *  dead. */
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { makeSocketFolder, socketOf } from './address.ts'
import { folderOf, progressIn, removeProgress } from './progress.ts'

/** ms for which a process may be slow to be connected to: until then it lives. */
const PATIENCE = 1_000
/** ms. A peer that should have reaped the process has done so. */
const FORSAKEN = 7 * 86_400_000

export class ProcessFolder {
  readonly #data: string
  #id: string | undefined
  #own: string | undefined
  #server: Server | undefined

  constructor(data: string) {
    this.#data = data
  }
  /** Listens for this process. Resolves to the id of the folder; undefined where that is not
   *  possible. */
  async enter(key: string): Promise<string | undefined> {
    const { id } = this
    if (id === undefined || this.#server) return id
    try {
      const socket = this.#socketOf(key)
      makeSocketFolder(socket)
      const server = createServer(visitor => visitor.destroy()).unref()
      await new Promise<void>((resolve, reject) => {
        server.on('error', reject)
        server.listen(socket, resolve)
      })
      this.#server = server
      this.#own = key
      void this.#removeForsaken()
      return id
    } catch {
      return undefined
    }
  }
  /** Which folder this is, among those of several machines; undefined where it cannot be written.
   *  */
  get id(): string | undefined {
    try {
      this.#id ??= idIn(join(this.#data, 'processes'))
    } catch {}
    return this.#id
  }
  /** Whether the process of this key lives; undefined where nothing is known of it here. */
  async isAlive(key: string): Promise<boolean | undefined> {
    if (key === this.#own) return true
    return new Promise(resolve => {
      const visit = connect(this.#socketOf(key), () => answer(true))
      const late = setTimeout(() => answer(true), PATIENCE)
      const answer = (alive: boolean | undefined): void => {
        clearTimeout(late)
        visit.destroy()
        resolve(alive)
      }
      // Its queue is full where its process stands still.
      visit.on('error', ({ code }: NodeJS.ErrnoException) =>
        answer(code === 'ENOENT' ? undefined : code !== 'ECONNREFUSED'),
      )
    })
  }
  /** How far its exchanges had come, by name. */
  progressOf(key: string): ReadonlyMap<string, number> {
    return progressIn(folderOf(this.#data), key)
  }
  /** Of a process that is gone nothing is needed any more. */
  remove(key: string): void {
    removeProgress(folderOf(this.#data), key)
    rmSync(this.#socketOf(key), { force: true })
  }
  close(): void {
    // Removes its socket as well.
    this.#server?.close()
    this.#server = undefined
  }
  /** Sockets of processes that were reaped from elsewhere. */
  async #removeForsaken(): Promise<void> {
    const folder = join(this.#data, 'processes')
    for (const name of readdirSync(folder)) {
      const [key = '', socket] = name.split('.')
      const found = socket ? statSync(join(folder, name), { throwIfNoEntry: false }) : undefined
      if (!found || Date.now() - found.mtimeMs < FORSAKEN) continue
      if ((await this.isAlive(key)) === false) rmSync(join(folder, name), { force: true })
    }
  }
  #socketOf(key: string): string {
    return socketOf(join(this.#data, 'processes', key))
  }
}

/** Of several processes that arrive at once the first one names it. */
const idIn = (folder: string): string => {
  const path = join(folder, 'id')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (existsSync(path)) return readFileSync(path, 'utf8')
  const draft = `${path}-${randomUUID()}`
  writeFileSync(draft, randomUUID(), { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}
