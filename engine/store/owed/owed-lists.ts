/** Lists that the store must get although it is away: each is a file of the data folder until the
 *  store has taken or refused it. The process that made it writes it; after the end of that process
 *  another one of the folder does. */
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Owed, OwedResult } from '../../plugin.ts'
import { makeFolder } from '../make-folder.ts'
import { encodeStatement } from '../values.ts'
import { codeOf, isStoreAway, owedFolder } from './owed-files.ts'

type Write = Database['write']
/** ms between two attempts, and ms for which a closing process retries. */
const RETRY_INTERVAL = 250
const SHUTDOWN_TIMEOUT = 10_000

export class OwedLists {
  readonly #write: Write
  /** Of this process; undefined without a data folder. */
  readonly #folder: string | undefined
  readonly #pending = new Set<Promise<void>>()
  #count = 0
  #closing = false

  /** `key`: of this process. */
  constructor(write: Write, data: string | undefined, key: string) {
    this.#write = write
    this.#folder = data === undefined ? undefined : join(owedFolder(data), key)
  }
  /** Returns whether the lists are on disk. They are written in any case. */
  owe(name: string, { lists, onDone }: Owed): boolean {
    const path = this.#save(`${name} ${++this.#count}`, lists)
    const settling = this.#settle(lists).then(result => {
      if (!result) return
      if (path !== undefined) remove(path)
      onDone?.(result)
    })
    this.#pending.add(settling)
    void settling.finally(() => this.#pending.delete(settling))
    return path !== undefined
  }
  /** Waits until the store has the lists, for at most SHUTDOWN_TIMEOUT. */
  async close(): Promise<void> {
    if (this.#pending.size > 0) {
      const stop = new AbortController()
      const timeout = pause(SHUTDOWN_TIMEOUT, undefined, { signal: stop.signal }).catch(() => {})
      await Promise.race([timeout, Promise.all(this.#pending)])
      stop.abort()
    }
    this.#closing = true
  }
  /** Undefined: this process ends before the store has told. */
  async #settle(lists: Owed['lists']): Promise<OwedResult | undefined> {
    let result: OwedResult = { rows: [] }
    for (const list of lists)
      for (;;) {
        if (this.#closing) return undefined
        try {
          result = { rows: await this.#write(list) }
          break
        } catch (error) {
          if (!isStoreAway(error)) {
            result = { rows: [], refusedWith: codeOf(error) }
            break
          }
        }
        await pause(RETRY_INTERVAL, undefined, { ref: false })
      }
    return result
  }
  /** The path of the file; undefined if the disk cannot take it. */
  #save(name: string, lists: Owed['lists']): string | undefined {
    if (this.#folder === undefined) return undefined
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 32)
    const path = join(this.#folder, `${String(this.#count).padStart(9, '0')}-${hash}`)
    try {
      makeFolder(this.#folder, 0o700)
      const file = openSync(`${path}.draft`, 'w', 0o600)
      try {
        writeSync(file, JSON.stringify(lists.map(list => list.map(encodeStatement))))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(`${path}.draft`, `${path}.json`)
      return `${path}.json`
    } catch {
      remove(`${path}.draft`)
      return undefined
    }
  }
}

/** A file that the disk does not remove is written once more later, which is harmless. */
const remove = (path: string): void => {
  try {
    rmSync(path, { force: true })
  } catch {}
}
