/** Appends lines to files of this process, in the background: those of finished requests, and of
 *  plugins. A request only adds its line to a buffer.
 *
 *  buffer ──every 250 ms, or 64 KiB──▶ one write ──full or old──▶ next file, oldest files removed
 *  A write that fails is counted and its lines are lost; the next one is tried with a new file. */
import { rmSync, writeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log, Metrics } from '../plugin.ts'
import { makeFolder } from '../store/make-folder.ts'
import { type LogBounds, nameAt, pruneFiles } from './files.ts'

export interface RequestWriterOptions {
  readonly folder: string
  readonly bounds: LogBounds
  readonly log: Log
  readonly metrics: Pick<Metrics, 'count'>
  /** Its name in the log, and its count of lines that are lost. */
  readonly name?: string
  readonly lossMetric?: string
  readonly now?: () => number
}
const NAME = 'request log'
const LOSS_METRIC = 'request_log_lost_total'
/** ms between two writes: a killed process loses at most this much. */
const INTERVAL = 250
/** Characters in the buffer that are written at once, without waiting for the interval. */
const BATCH = 65_536
/** Characters that wait for a slow disk; further lines are dropped and counted. */
const MAX_BUFFER = 4 * 1024 * 1024
/** A file has at most this part of the bounds, so that removing the oldest removes little. */
const PARTS = 64
const MIN_FILE_BYTES = 4_096
/** ms between two removals of old files. */
const PRUNE_EVERY = 60_000

/** The file that is being written. */
interface OpenFile {
  readonly name: string
  readonly handle: FileHandle
  readonly openedAt: number
  bytes: number
}

export class RequestWriter {
  readonly #options: RequestWriterOptions
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout
  #buffer = ''
  #lines = 0
  #writing: Promise<void> | undefined
  #file: OpenFile | undefined
  #fileCount = 0
  #prunedAt = 0
  #isFailing = false

  constructor(options: RequestWriterOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#timer = setInterval(() => this.#tick(), INTERVAL).unref()
  }
  /** Adds a line, which ends with a line feed. */
  write(line: string): void {
    if (this.#buffer.length >= MAX_BUFFER) return this.#count('dropped', 1)
    this.#buffer += line
    this.#lines++
    if (this.#buffer.length >= BATCH) this.#flush()
  }
  /** Writes what is in the buffer, synchronously: for the exit of a process. */
  writeNow(): void {
    const { handle } = this.#file ?? {}
    if (!handle || this.#buffer === '') return
    try {
      writeSync(handle.fd, this.#buffer)
    } catch {
      // The process ends: no one reads a count.
    }
    this.#buffer = ''
  }
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    if (this.#buffer !== '') this.#flush()
    await this.#writing
    await this.#file?.handle.close().catch(() => {})
    this.#file = undefined
  }

  /** Also closes a file whose lines are old, so that it can be removed. */
  #tick(): void {
    if (this.#buffer !== '') return this.#flush()
    const { bounds } = this.#options
    const isOld = this.#file && this.#now() - this.#file.openedAt > bounds.age / PARTS
    if (isOld && !this.#writing) this.#writing = this.#rotate().finally(() => this.#end())
  }
  #flush(): void {
    if (this.#writing) return
    const text = this.#buffer
    const lines = this.#lines
    this.#buffer = ''
    this.#lines = 0
    this.#writing = this.#append(text)
      .then(
        () => this.#recovered(),
        error => this.#failed(lines, error),
      )
      .finally(() => this.#end())
  }
  #end(): void {
    this.#writing = undefined
  }
  async #append(text: string): Promise<void> {
    const file = await this.#current()
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; )
      at += (await file.handle.write(bytes, at, bytes.length - at)).bytesWritten
    file.bytes += bytes.length
  }
  /** The file for the next write. Another process removes a file that is too old, and an operator
   *  may remove the folder: then nothing is written into a file without a name. */
  async #current(): Promise<OpenFile> {
    const { bounds } = this.#options
    const limit = Math.max(MIN_FILE_BYTES, bounds.size / PARTS)
    const file = this.#file
    const isOld = file && this.#now() - file.openedAt > bounds.age / PARTS
    const isGone = file && (await file.handle.stat()).nlink === 0
    if (file && file.bytes < limit && !isOld && !isGone) return this.#prune(file)
    await this.#rotate()
    return this.#prune(await this.#openNext())
  }
  async #openNext(): Promise<OpenFile> {
    const { folder } = this.#options
    const openedAt = this.#now()
    makeFolder(folder, 0o700)
    const name = nameAt(openedAt, process.pid, this.#fileCount++)
    const handle = await open(join(folder, name), 'ax', 0o600)
    this.#file = { name, handle, openedAt, bytes: 0 }
    this.#prunedAt = 0
    return this.#file
  }
  async #rotate(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.handle.close()
  }
  #prune(file: OpenFile): OpenFile {
    const now = this.#now()
    if (Math.abs(now - this.#prunedAt) < PRUNE_EVERY) return file
    this.#prunedAt = now
    pruneFiles(this.#options.folder, this.#options.bounds, file.name, now)
    return file
  }

  #recovered(): void {
    if (!this.#isFailing) return
    this.#isFailing = false
    const { folder, log, name = NAME } = this.#options
    log.info({ folder }, `the ${name} is written again`)
  }
  /** Says it once, until a write succeeds. */
  async #failed(lines: number, error: unknown): Promise<void> {
    this.#count('failed', lines)
    const { name, bytes } = this.#file ?? {}
    await this.#rotate().catch(() => {})
    // On a full disk each new file would stay empty.
    if (name !== undefined && bytes === 0) rmSync(join(this.#options.folder, name), { force: true })
    if (this.#isFailing) return
    this.#isFailing = true
    const { folder, log } = this.#options
    const { message } = error as Error
    log.error(
      { folder, error: message },
      `the ${this.#options.name ?? NAME} cannot be written; requests go on`,
    )
  }
  #count(reason: 'dropped' | 'failed', lines: number): void {
    this.#options.metrics.count(this.#options.lossMetric ?? LOSS_METRIC, { reason }, lines)
  }
}
