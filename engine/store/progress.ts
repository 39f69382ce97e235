/** Progress counts of the exchanges of a process, in a file that survives a crash. Each update is
 *  one small write into the page cache, 1.5 us without a message; only a power cut loses it. */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './make-folder.ts'

/** Slot layout, bytes: count (8, double), length of the name (1), name. */
const SLOT = 64
const NAME_AT = 9
const MAX_NAME = SLOT - NAME_AT
/** Marks an exchange without a slot: the file could not be written. */
const NO_SLOT = -1
/** Slots added at a time. They are allocated in advance, so that a full disk does not affect
 *  exchanges in progress. */
const GROWTH = 1_024
/** ms after which an unchanged file is removed: its process was reaped long ago. */
const STALE_AFTER = 7 * 86_400_000

export const progressFolder = (data: string): string => join(data, 'progress')

export class Progress {
  readonly #path: string
  readonly #slots = new Map<string, number>()
  readonly #free: number[] = []
  readonly #bytes = Buffer.alloc(SLOT)
  #file: number | undefined
  #size = 0
  #closed = false

  constructor(folder: string, client: string) {
    this.#path = join(folder, client)
  }
  set(name: string, count: number): void {
    const slot = this.#slots.get(name)
    if (this.#closed || slot === NO_SLOT) return
    try {
      if (slot === undefined) return this.#allocate(name, count)
      this.#bytes.writeDoubleLE(count)
      writeSync(this.#file ?? 0, this.#bytes, 0, 8, slot * SLOT)
    } catch {
      // The on-crash statements then apply with their own values; a later exchange may succeed.
      if (slot === undefined) this.#slots.set(name, NO_SLOT)
    }
  }
  /** Frees the slot of an exchange that has ended. */
  clear(name: string): void {
    const slot = this.#slots.get(name)
    this.#slots.delete(name)
    if (slot !== undefined && slot !== NO_SLOT) this.#free.push(slot)
  }
  /** Removes the file: no exchange is open. */
  close(): void {
    this.#closed = true
    if (this.#file === undefined) return
    closeSync(this.#file)
    rmSync(this.#path, { force: true })
  }
  #allocate(name: string, count: number): void {
    const length = Buffer.byteLength(name)
    if (length > MAX_NAME) return
    const file = this.#ensureFile()
    const slot = this.#free.pop() ?? this.#grow(file)
    this.#bytes.fill(0)
    this.#bytes.writeDoubleLE(count)
    this.#bytes.writeUInt8(length, 8)
    this.#bytes.write(name, NAME_AT)
    writeSync(file, this.#bytes, 0, SLOT, slot * SLOT)
    this.#slots.set(name, slot)
  }
  #grow(file: number): number {
    const first = this.#size
    writeSync(file, Buffer.alloc(GROWTH * SLOT), 0, GROWTH * SLOT, first * SLOT)
    this.#size += GROWTH
    for (let slot = this.#size - 1; slot > first; slot--) this.#free.push(slot)
    return first
  }
  /** Opens the file, or a new one with the same content if a peer removed it after a week without
   *  changes. */
  #ensureFile(): number {
    this.#file ??= this.#createFile()
    if (statSync(this.#path, { throwIfNoEntry: false })) return this.#file
    const content = Buffer.alloc(this.#size * SLOT)
    readSync(this.#file, content, 0, content.length, 0)
    const next = this.#createFile()
    try {
      writeSync(next, content, 0, content.length, 0)
    } catch (error) {
      closeSync(next)
      rmSync(this.#path, { force: true })
      throw error
    }
    closeSync(this.#file)
    this.#file = next
    return next
  }
  #createFile(): number {
    const folder = join(this.#path, '..')
    makeFolder(folder, 0o700)
    for (const name of readdirSync(folder)) removeStale(join(folder, name))
    return openSync(this.#path, 'w+', 0o600)
  }
}
const removeStale = (path: string): void => {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats && Date.now() - stats.mtimeMs > STALE_AFTER) rmSync(path, { force: true })
}

/** Counts of a process by exchange name; empty if it has no file here. */
export const readProgress = (
  folder: string | undefined,
  client: string,
): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  const bytes = folder === undefined ? Buffer.alloc(0) : read(join(folder, client))
  for (let at = 0; at + SLOT <= bytes.length; at += SLOT) {
    const length = Math.min(bytes.readUInt8(at + 8), MAX_NAME)
    const name = bytes.toString('utf8', at + NAME_AT, at + NAME_AT + length)
    if (length > 0) counts.set(name, bytes.readDoubleLE(at))
  }
  return counts
}
export const removeProgress = (folder: string | undefined, client: string): void => {
  if (folder !== undefined) rmSync(join(folder, client), { force: true })
}

const read = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}
