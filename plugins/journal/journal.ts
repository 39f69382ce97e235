/** The journal of one process: calls that have ended wait in a bounded queue until their lines are
 *  made and written, one in each turn of the event loop. */
import { isAbsolute } from 'node:path'
import { largeTurn } from '../../engine/kit.ts'
import type { HostBase, Outcome } from '../../engine/plugin.ts'
import { RequestWriter } from '../../engine/request-log/writer.ts'
import { makeFolder } from '../../engine/store/make-folder.ts'
import type { BlobStore } from '../file-store/blob-store.ts'
import { parseS3Address, S3Store } from '../file-store/s3-store.ts'
import { BucketWriter } from './bucket-writer.ts'
import type { CallRecord } from './record.ts'
import { Redaction } from './redaction.ts'
import type { Section } from './section.ts'
import { CONSENTS } from './tables.ts'

/** Calls that wait; more are dropped and counted. */
const MAX_WAITING = 1_000
/** Characters of calls that wait. */
const MAX_SIZE = 32 * 1024 * 1024
export const LOSS_METRIC = 'journal_lost_total'

interface Waiting {
  readonly record: CallRecord
  readonly outcome: Outcome
  /** ms since 1970. */
  readonly end: number
}
export const folderOf = (host: Pick<HostBase, 'folder'>, { to }: Section): string => {
  const path = to.replace(/^file:/, '')
  if (!isAbsolute(path)) return host.folder(path)
  makeFolder(path, 0o700)
  return path
}

/** Undefined: the journal is in a folder of this machine. */
export const bucketOf = ({ to, access_key, secret_key }: Section): BlobStore | undefined =>
  to.startsWith(S3)
    ? new S3Store(parseS3Address(to, 'journal.to'), {
        accessKey: access_key ?? '',
        secretKey: secret_key ?? '',
      })
    : undefined
const S3 = 's3://'
const writerOf = (host: HostBase, section: Section): RequestWriter | BucketWriter => {
  const { log, metrics } = host
  const store = bucketOf(section)
  if (store) return new BucketWriter({ store, log, metrics, lossMetric: LOSS_METRIC })
  return new RequestWriter({
    folder: folderOf(host, section),
    bounds: { size: section.size, age: section.keep },
    log,
    metrics,
    name: 'journal',
    lossMetric: LOSS_METRIC,
  })
}

export class Journal {
  readonly #section: Section
  readonly #host: Pick<HostBase, 'database' | 'log' | 'metrics'>
  readonly #writer: RequestWriter | BucketWriter
  readonly #leaving: AbortSignal
  readonly #redaction: Redaction
  readonly #waiting: Waiting[] = []
  #size = 0
  #isWorking = false
  #consents: ReadonlySet<number> = new Set()

  constructor(host: HostBase, section: Section) {
    this.#host = host
    this.#leaving = host.membership.leaving
    this.#section = section
    this.#redaction = new Redaction(section.redact)
    this.#writer = writerOf(host, section)
    this.#leaving.addEventListener('abort', this.#flush, { once: true })
    process.on('exit', this.#writeNow)
  }
  readonly #writeNow = (): void => this.#writer.writeNow()
  /** A process that ends finishes its streams first: the bucket has time. */
  readonly #flush = (): void => {
    if ('flush' in this.#writer) this.#writer.flush()
  }
  /** Whether calls of the account may be written. */
  mayWrite(account: number | undefined): boolean {
    if (this.#section.consent === 'all') return true
    return account !== undefined && this.#consents.has(account)
  }
  async readConsents(): Promise<void> {
    if (this.#section.consent === 'all') return
    const rows = await this.#host.database.read(CONSENTS, [])
    this.#consents = new Set(rows.map(({ account }) => Number(account)))
  }
  /** Adds a call that has ended. */
  add(record: CallRecord, outcome: Outcome): void {
    if (this.#waiting.length >= MAX_WAITING || this.#size + record.size > MAX_SIZE)
      return this.#host.metrics.count(LOSS_METRIC, { reason: 'queue' })
    this.#size += record.size
    this.#waiting.push({ record, outcome, end: Date.now() })
    if (!this.#isWorking) void this.#work()
  }
  async #work(): Promise<void> {
    this.#isWorking = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      await largeTurn()
      this.#size -= next.record.size
      await this.#write(next)
    }
    this.#isWorking = false
  }
  async #write({ record, outcome, end }: Waiting): Promise<void> {
    // The account may have withdrawn its consent meanwhile.
    if (!this.mayWrite(record.account)) return
    try {
      this.#writer.write(`${await record.lineOf(outcome, this.#redaction, end)}\n`)
    } catch (error) {
      this.#host.metrics.count(LOSS_METRIC, { reason: 'unreadable' })
      this.#host.log.warn({ error: (error as Error).message }, 'a call is not in the journal')
    }
  }
  async close(): Promise<void> {
    process.off('exit', this.#writeNow)
    this.#leaving.removeEventListener('abort', this.#flush)
    await this.#writer.close()
  }
}
