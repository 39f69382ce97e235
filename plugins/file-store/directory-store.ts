/** Keeps the bytes of files in a directory: `incoming/` while they are written, then one folder for
 *  each of 256 endings of names. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '../../engine/kit.ts'
import type { Bytes } from '../../engine/plugin.ts'
import type { Blob, BlobStore, BlobWriter } from './blob-store.ts'
import { fault } from './faults.ts'

const INCOMING = 'incoming'
const SHARD = /^[0-9a-f]{2}$/
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** Bytes of one write: a call of the file system costs as much as hashing 64 KiB. */
const BATCH_SIZE = 512 * 1024
/** Bytes between two syncs: a sync of a gigabyte at the end would take longer than a stage may. */
const SYNC_INTERVAL = 16 * 2 ** 20
const READ_SIZE = 256 * 1024

export class DirectoryStore implements BlobStore {
  readonly #root: string
  readonly #minFree: number

  /** `minFree`: percent of the file system below which nothing is stored. */
  constructor(root: string, minFree: number) {
    this.#root = root
    this.#minFree = minFree
  }
  async create(name: string, process: string): Promise<BlobWriter> {
    const incoming = join(this.#root, INCOMING)
    await mkdir(incoming, { recursive: true, mode: FOLDER_MODE })
    await this.#checkSpace()
    const path = join(incoming, `${name}.${process}.${randomUUID()}`)
    const handle = await open(path, 'wx', FILE_MODE)
    return new DirectoryWriter(handle, {
      checkSpace: () => this.#checkSpace(),
      remove: () => rm(path, { force: true }),
      publish: () => this.#publish(path, name),
    })
  }
  async read(name: string, start: number, end: number): Promise<AsyncIterable<Bytes>> {
    if ((await this.sizeOf(name)) === undefined) throw fault('FILE_LOST', [name])
    return readRange(this.#pathOf(name), start, end)
  }
  /** Undefined if there are no bytes under this name. */
  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return (await stat(this.#pathOf(name))).size
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined
      throw error
    }
  }
  remove(name: string): Promise<void> {
    return rm(this.#pathOf(name), { force: true })
  }
  async *pages(): AsyncGenerator<readonly Blob[]> {
    for (const shard of await entriesIn(this.#root))
      if (SHARD.test(shard)) yield await blobsIn(join(this.#root, shard))
  }
  async removeUnfinished(before: number): Promise<number> {
    const folder = join(this.#root, INCOMING)
    const abandoned = (await blobsIn(folder)).filter(({ modified }) => modified < before)
    for (const { name } of abandoned) await rm(join(folder, name), { force: true })
    return abandoned.length
  }
  async removeUnfinishedOf(process: string): Promise<void> {
    const folder = join(this.#root, INCOMING)
    for (const name of await entriesIn(folder))
      if (name.split('.')[1] === process) await rm(join(folder, name), { force: true })
  }
  /** Moves a complete file to its name; the directory entry is durable as well. */
  async #publish(path: string, name: string): Promise<void> {
    const folder = join(this.#root, name.slice(-2))
    const isNew = (await mkdir(folder, { recursive: true, mode: FOLDER_MODE })) !== undefined
    await rename(path, join(folder, name))
    await syncFolder(folder)
    if (isNew) await syncFolder(this.#root)
  }
  async #checkSpace(): Promise<void> {
    const { bavail, blocks } = await statfs(this.#root)
    if (bavail < (blocks * this.#minFree) / 100) throw fault('STORAGE_FULL')
  }
  #pathOf(name: string): string {
    return join(this.#root, name.slice(-2), name)
  }
}

interface WriterActions {
  checkSpace(): Promise<void>
  remove(): Promise<void>
  publish(): Promise<void>
}
class DirectoryWriter implements BlobWriter {
  readonly #handle: FileHandle
  readonly #actions: WriterActions
  readonly #batch = Buffer.allocUnsafeSlow(BATCH_SIZE)
  #length = 0
  #unsynced = 0
  #isClosed = false

  constructor(handle: FileHandle, actions: WriterActions) {
    this.#handle = handle
    this.#actions = actions
  }
  write(bytes: Bytes): Promise<void> | undefined {
    if (this.#length + bytes.length > BATCH_SIZE) return this.#writeFull(bytes)
    this.#batch.set(bytes, this.#length)
    this.#length += bytes.length
    return undefined
  }
  async #writeFull(bytes: Bytes): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + BATCH_SIZE - this.#length)
      this.#batch.set(piece, this.#length)
      this.#length += piece.length
      from += piece.length
      if (this.#length === BATCH_SIZE) await this.#flush()
    }
  }
  async #flush(): Promise<void> {
    try {
      await this.#handle.appendFile(this.#batch.subarray(0, this.#length))
      this.#unsynced += this.#length
      this.#length = 0
      if (this.#unsynced < SYNC_INTERVAL) return
      this.#unsynced = 0
      await this.#actions.checkSpace()
      await this.#handle.datasync()
    } catch (error) {
      throw isCode(error, 'ENOSPC', 'EDQUOT') ? fault('STORAGE_FULL', [], { cause: error }) : error
    }
  }
  async commit(): Promise<void> {
    await this.#flush()
    await this.#handle.sync()
    this.#isClosed = true
    await this.#handle.close()
    try {
      await this.#actions.publish()
    } catch (error) {
      await this.#actions.remove()
      throw error
    }
  }
  async abort(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#handle.close()
    await this.#actions.remove()
  }
}

/** Opens the file with the first chunk: a reply that no client reads must not hold it open. */
async function* readRange(path: string, start: number, end: number): AsyncGenerator<Bytes> {
  if (end <= start) return
  yield* createReadStream(path, { start, end: end - 1, highWaterMark: READ_SIZE })
}
const entriesIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}
const blobsIn = async (folder: string): Promise<readonly Blob[]> => {
  const blobs: Blob[] = []
  for (const name of await entriesIn(folder)) {
    try {
      const { size, mtimeMs } = await stat(join(folder, name))
      blobs.push({ name, bytes: size, modified: mtimeMs })
    } catch (error) {
      if (!isCode(error, 'ENOENT')) throw error // it was removed meanwhile
    }
  }
  return blobs
}
const syncFolder = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
