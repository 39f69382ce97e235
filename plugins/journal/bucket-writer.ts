/** Writes lines of the journal to a bucket, in the background: each object has the lines of one
 *  process and a few seconds.
 *
 *  buffer ──every 5 s, or 1 MiB──▶ one object, one at a time
 *  While an object is being written at most 8 MiB wait; further lines are dropped and counted. An
 *  object that the bucket does not take is lost, and counted. */
import { randomUUID } from 'node:crypto'
import type { Log, Metrics } from '../../engine/plugin.ts'
import type { BlobStore } from '../file-store/blob-store.ts'

interface BucketWriterOptions {
  readonly store: BlobStore
  readonly log: Log
  readonly metrics: Pick<Metrics, 'count'>
  readonly lossMetric: string
}
/** ms between two objects: a killed process loses at most this much, and what is being written. */
const INTERVAL = 5_000
/** Characters that are written at once, without waiting for the interval. */
const BATCH = 1024 * 1024
/** Characters that wait for the bucket. */
const MAX_BUFFER = 8 * 1024 * 1024
/** Bytes in the search for a record. */
const LARGEST = 64 * 1024 * 1024
/** Objects that a sweep and a search list, up to one page more. */
const MAX_OBJECTS = 1_000_000

export class BucketWriter {
  readonly #options: BucketWriterOptions
  readonly #process = randomUUID().slice(0, 8)
  readonly #timer: NodeJS.Timeout
  #lines: string[] = []
  #size = 0
  #count = 0
  #writing: Promise<void> | undefined
  constructor(options: BucketWriterOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.flush(), INTERVAL).unref()
  }
  write(line: string): void {
    if (this.#size + line.length > MAX_BUFFER) return this.#lose('dropped', 1)
    this.#lines.push(line)
    this.#size += line.length
    if (this.#size >= BATCH) this.flush()
  }
  /** A process that exits cannot wait for the bucket. */
  writeNow(): void {}
  flush(): void {
    if (this.#writing || this.#lines.length === 0) return
    this.#writing = this.#writeObject().finally(() => {
      this.#writing = undefined
      if (this.#size >= BATCH) this.flush()
    })
  }
  async close(): Promise<void> {
    clearInterval(this.#timer)
    while (this.#writing || this.#lines.length > 0) {
      this.flush()
      await this.#writing
    }
  }
  async #writeObject(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    this.#size = 0
    try {
      const writer = await this.#options.store.create(this.#name(), this.#process)
      await writer.write(Buffer.from(lines.join('')))
      await writer.commit()
    } catch (error) {
      this.#lose('failed', lines.length)
      const { message, cause } = error as Error
      this.#options.log.warn({ error: String(cause ?? message) }, 'the journal was not written')
    }
  }
  /** Names are in the order of their times. */
  #name(): string {
    const time = new Date().toISOString().replaceAll(':', '-')
    return `${time.slice(0, 10)}/${time}-${this.#process}-${++this.#count}.jsonl`
  }
  #lose(reason: string, count: number): void {
    this.#options.metrics.count(this.#options.lossMetric, { reason }, count)
  }
}

/** Removes objects that are older than `keep` (ms), and the oldest beyond `size` bytes. */
export const sweepBucket = async (
  store: BlobStore,
  { keep, size }: { readonly keep: number; readonly size: number },
  now: number,
  signal: AbortSignal,
): Promise<void> => {
  const blobs = (await blobsOf(store)).toSorted((a, b) => b.modified - a.modified)
  let bytes = 0
  for (const blob of blobs) {
    bytes += blob.bytes
    if (signal.aborted) return
    if (blob.modified < now - keep || bytes > size) await store.remove(blob.name)
  }
}
/** The lines of all objects, the latest objects first. */
export async function* linesOfBucket(store: BlobStore): AsyncGenerator<string> {
  const blobs = (await blobsOf(store)).toSorted((a, b) => (a.name < b.name ? 1 : -1))
  for (const { name, bytes } of blobs) {
    if (bytes > LARGEST) continue
    const chunks: Uint8Array[] = []
    for await (const chunk of await store.read(name, 0, bytes)) chunks.push(chunk)
    yield* Buffer.concat(chunks).toString().split('\n')
  }
}
const blobsOf = async (store: BlobStore) => {
  const all = []
  for await (const page of store.pages()) {
    all.push(...page.filter(({ name }) => name.endsWith('.jsonl')))
    if (all.length > MAX_OBJECTS) break
  }
  return all
}
