/** Stored files: their rows and their bytes. A row is written after its bytes and removed before
 *  them, so that a crash leaves bytes without a row, never a row without bytes. */
import { createHash } from 'node:crypto'
import { isCode } from '../../engine/kit.ts'
import type { Bytes, Database, Exchange, HostBase } from '../../engine/plugin.ts'
import { makeFolder } from '../../engine/store/make-folder.ts'
import { type Caller, readAs } from '../credentials/members.ts'
import { refusalOfOwner } from '../credentials/work-owner.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { COMMIT_FAULTS } from '../slots.ts'
import { Undo } from '../undo/undo.ts'
import type { BlobStore, BlobWriter } from './blob-store.ts'
import { DirectoryStore } from './directory-store.ts'
import { fault } from './faults.ts'
import { parseS3Address, S3Store } from './s3-store.ts'
import { type FileSettings, fileSettingsOf } from './settings.ts'
import {
  ALL,
  addFile,
  COUNT,
  EXPIRED,
  FIND,
  FIND_ANY,
  FIND_NAMED,
  KNOWN,
  NO_QUOTA,
  removeFile,
  USAGE_OF,
  withdrawFile,
} from './statements.ts'
import { fileOf, isFileId, makeFileId, type StoredFile } from './stored-file.ts'

/** Name of the secret that signs URLs of files. */
const SECRET = 'files'
/** ms that an upload may take a break before it counts as abandoned. */
const GRACE = 3_600_000
const PAGE = 200

/** The file store of this process and configuration. */
export const fileStoreOf = (host: HostBase): FileStore => {
  const settings = fileSettingsOf(host)
  return host.share('file-store', `1 ${JSON.stringify(settings)}`, () => {
    const blobs = openBlobs(host, settings)
    host.membership.listen('files', {
      beforeReap: async process => blobs.removeUnfinishedOf?.(process),
    })
    return new FileStore(host, settings, blobs)
  })
}
const openBlobs = (host: HostBase, settings: FileSettings): BlobStore => {
  const { store, minFree, accessKey, secretKey } = settings
  if (store.startsWith('s3:')) {
    if (accessKey === '' || secretKey === '')
      throw new Error('settings.files.store is a bucket: set access_key and secret_key beside it')
    return new S3Store(parseS3Address(store, 'settings.files.store'), { accessKey, secretKey })
  }
  const path = store.replace(/^file:/, '')
  if (path === '') return new DirectoryStore(host.folder('files'), minFree)
  makeFolder(path)
  return new DirectoryStore(path, minFree)
}

export class FileStore {
  readonly settings: FileSettings
  readonly #host: Pick<HostBase, 'secret' | 'membership' | 'share'>
  readonly #database: Pick<Database, 'read' | 'write' | 'pages'>
  readonly #blobs: BlobStore
  #secret: Promise<Bytes> | undefined

  constructor(
    host: Pick<HostBase, 'database' | 'secret' | 'membership' | 'share'>,
    settings: FileSettings,
    blobs: BlobStore,
  ) {
    this.settings = settings
    this.#host = host
    this.#database = host.database
    this.#blobs = blobs
  }
  /** Begins a file. The caller ends it with `save` or with the writer's `abort`. */
  async begin(id = makeFileId()): Promise<FileWriter> {
    const process = await this.#host.membership.name()
    return new FileWriter(id, await this.#blobs.create(id, process))
  }
  /** Writes the bytes of a file that has a row. False, and nothing is stored, if they are others
   *  than were uploaded. */
  async restore(
    { id, bytes, sha256 }: StoredFile,
    chunks: AsyncIterable<Bytes> | Iterable<Bytes>,
  ): Promise<boolean> {
    const writer = new FileWriter(id, await this.#blobs.create(id, 'restore'))
    try {
      for await (const chunk of chunks) await writer.write(chunk)
      const stored = await writer.commit()
      const isEqual = stored.bytes === bytes && stored.sha256 === sha256
      if (!isEqual) await this.#removeBytes(id)
      return isEqual
    } catch (error) {
      await writer.abort()
      throw error
    }
  }
  /** Whether the stored bytes are those that were uploaded. */
  async isIntact(file: StoredFile): Promise<boolean> {
    const hash = createHash('sha256')
    try {
      for await (const chunk of await this.read(file, 0, file.bytes)) hash.update(chunk)
    } catch (error) {
      if (isCode(error, 'FILE_LOST')) return false
      throw error
    }
    return hash.digest('hex') === file.sha256
  }
  async exists(id: string): Promise<boolean> {
    return (await this.#database.read(KNOWN, [JSON.stringify([id])])).length > 0
  }
  /** Makes the bytes durable, then the row. Rejects with FILE_QUOTA, and leaves nothing then. */
  async save(
    writer: FileWriter,
    file: Omit<StoredFile, 'id' | 'bytes' | 'sha256'>,
    quota = this.settings.quota,
  ): Promise<StoredFile> {
    const stored = { ...file, ...(await writer.commit()) }
    try {
      await writeWithRetry(this.#database, addFile(stored, quota))
    } catch (error) {
      // If the result is unknown the row may exist; without it the bytes are removed later.
      if (!isCode(error, 'STORE_UNKNOWN')) await this.#removeBytes(stored.id)
      throw isCode(error, 'FILE_QUOTA') ? this.#quotaFault() : error
    }
    return stored
  }
  /** Makes the bytes durable; the row is written with the request that uploads them. Throws
   *  FILE_QUOTA, or why its owner lost access while the bytes came, and leaves nothing then. */
  async saveWith(
    exchange: Exchange,
    writer: FileWriter,
    file: Omit<StoredFile, 'id' | 'bytes' | 'sha256'>,
  ): Promise<StoredFile> {
    const stored = { ...file, ...(await writer.commit()) }
    const removeBytes = (): void => void this.#removeBytes(stored.id)
    try {
      await this.checkQuota(file.account, stored.bytes)
      const refusal = await refusalOfOwner(this.#host, exchange.slots.toJson())
      if (refusal) throw refusal
    } catch (error) {
      removeBytes()
      throw error
    }
    // The client has left: it would upload the file again.
    if (exchange.signal.aborted) {
      removeBytes()
      throw exchange.signal.reason
    }
    Undo.of(exchange).add({ undo: withdrawFile(stored), onUndo: removeBytes })
    exchange.slots.set(COMMIT_FAULTS, { FILE_QUOTA: this.#quotaFault() })
    exchange.writes.add(...addFile(stored, this.settings.quota))
    return stored
  }
  /** Throws FILE_QUOTA if the account may not store this many bytes more. */
  async checkQuota(account: number, bytes: number): Promise<void> {
    const [row] = await this.#database.read(USAGE_OF, [account])
    const { quota } = this.settings
    if (Number(row?.files ?? 0) >= quota.files || Number(row?.bytes ?? 0) + bytes > quota.bytes)
      throw this.#quotaFault()
  }
  /** Throws FILE_UNKNOWN, also for files that the caller may not see. `caller` undefined: of any
   *  account. */
  async find(id: string, caller: Caller | undefined): Promise<StoredFile> {
    if (!isFileId(id)) throw fault('FILE_UNKNOWN', [id])
    const values = [id, Date.now()]
    const [row] = await (caller
      ? readAs(this.#database, caller, FIND, values)
      : this.#database.read(FIND_ANY, values))
    if (!row) throw fault('FILE_UNKNOWN', [id])
    return fileOf(row)
  }
  /** The files among these that the caller sees. */
  async findNamed(ids: readonly string[], caller: Caller): Promise<readonly StoredFile[]> {
    const values = [Date.now(), JSON.stringify(ids)]
    return (await readAs(this.#database, caller, FIND_NAMED, values)).map(fileOf)
  }
  /** The bytes from `start` to `end`, exclusive. */
  read({ id }: StoredFile, start: number, end: number): Promise<AsyncIterable<Bytes>> {
    return this.#blobs.read(id, start, end)
  }
  async remove(file: StoredFile): Promise<void> {
    try {
      await writeWithRetry(this.#database, removeFile(file))
    } catch (error) {
      throw isCode(error, 'FILE_UNKNOWN') ? fault('FILE_UNKNOWN', [file.id]) : error
    }
    await this.#removeBytes(file.id)
  }
  /** All files, of all accounts. */
  async count(): Promise<number> {
    const [row] = await this.#database.read(COUNT, [])
    return Number(row?.files)
  }
  async *all(): AsyncGenerator<StoredFile> {
    for await (const rows of this.#database.pages(ALL, [''], PAGE)) yield* rows.map(fileOf)
  }
  async removeExpired(signal: AbortSignal): Promise<void> {
    for (;;) {
      const rows = await this.#database.read(EXPIRED, [Date.now(), PAGE])
      for (const row of rows) {
        if (signal.aborted) return
        await this.remove(fileOf(row)).catch(ignoreUnknown)
      }
      if (rows.length < PAGE) return
    }
  }
  /** Removes bytes that no row refers to. */
  async removeOrphans(signal?: AbortSignal): Promise<Removals> {
    const before = Date.now() - GRACE
    const unfinished = await this.#blobs.removeUnfinished(before)
    const removals = { unfinished, orphans: 0, bytes: 0 }
    for await (const page of this.#blobs.pages()) {
      if (signal?.aborted) break
      const old = page.filter(({ modified }) => modified < before)
      const rows = await this.#database.read(KNOWN, [JSON.stringify(old.map(({ name }) => name))])
      const known = new Set(rows.map(({ id }) => id))
      for (const { name, bytes } of old) {
        if (known.has(name)) continue
        await this.#blobs.remove(name)
        removals.orphans++
        removals.bytes += bytes
      }
    }
    return removals
  }
  /** The secret that signs URLs. */
  secret(): Promise<Bytes> {
    this.#secret ??= this.#host.secret(SECRET).catch(error => {
      this.#secret = undefined
      throw error
    })
    return this.#secret
  }
  /** Bytes that cannot be removed now are orphans, which are removed later. */
  async #removeBytes(id: string): Promise<void> {
    await this.#blobs.remove(id).catch(() => {})
  }
  #quotaFault() {
    const { files, bytes } = this.settings.quota
    const limits = [
      ...(files < NO_QUOTA.files ? [`${files} files`] : []),
      ...(bytes < NO_QUOTA.bytes ? [`${bytes} bytes`] : []),
    ]
    return fault('FILE_QUOTA', [limits.join(' and ')])
  }
}
export interface Removals {
  readonly unfinished: number
  readonly orphans: number
  readonly bytes: number
}
/** Another process removed it first. */
const ignoreUnknown = (error: unknown): void => {
  if (!isCode(error, 'FILE_UNKNOWN')) throw error
}

/** Writes the bytes of one file, and hashes and counts them. */
export class FileWriter {
  readonly id: string
  readonly #blob: BlobWriter
  readonly #hash = createHash('sha256')
  #size = 0

  constructor(id: string, blob: BlobWriter) {
    this.id = id
    this.#blob = blob
  }
  /** Copies the bytes. A promise: the caller waits before it writes more. */
  write(bytes: Bytes): Promise<void> | undefined {
    this.#size += bytes.length
    this.#hash.update(bytes)
    return this.#blob.write(bytes)
  }
  /** Called by the store. */
  async commit(): Promise<Pick<StoredFile, 'id' | 'bytes' | 'sha256'>> {
    await this.#blob.commit()
    return { id: this.id, bytes: this.#size, sha256: this.#hash.digest('hex') }
  }
  /** Leaves nothing. Does nothing after `commit`. */
  abort(): Promise<void> {
    return this.#blob.abort()
  }
}
