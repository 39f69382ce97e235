/** Moves batches from state to state. One process of the installation does it at a time, and every
 *  step may be repeated:
 *
 *   validating ──▶ in_progress ──▶ finalizing ──▶ completed, expired
 *       │               └────▶ cancelling ──▶ cancelled
 *       └──▶ failed: the input file has problems */
import { isCode } from '../../engine/kit.ts'
import type { Host, Statement } from '../../engine/plugin.ts'
import { makerOf } from '../credentials/members.ts'
import { refusalOfOwner } from '../credentials/work-owner.ts'
import { type FileStore, fileStoreOf } from '../file-store/file-store.ts'
import { NO_QUOTA } from '../file-store/statements.ts'
import { makeFileId } from '../file-store/stored-file.ts'
import { writePages, writeWithRetry } from '../ledger/write-with-retry.ts'
import type { BatchCounts } from '../rows/work.ts'
import { ACCOUNT, type Account } from '../slots.ts'
import { type Batch, batchOf, type Ending, lineOf, MESSAGES } from './batch.ts'
import { BatchInput } from './input.ts'
import { EXPIRED, errorOutcome } from './outcome.ts'
import {
  ANY_RUNNING,
  ANY_UNFINISHED,
  addLine,
  COUNTS,
  cancelBatch,
  deleteLines,
  ENDED_WITH_LINES,
  FIND_ANY,
  failBatch,
  moveBatch,
  OUTCOMES,
  UNFINISHED,
  UNSENT,
} from './statements.ts'

/** Rows of one transaction. */
const PAGE = 200
/** Outcomes of one read: each may have 16 MiB. */
const OUTCOME_PAGE = 8
/** Purpose of the files with results; no upload may name it. */
const PURPOSE = 'batch_output'

/** Moves every batch as far as it can go now, and removes the lines of those that have ended. */
export const moveBatches = async (host: Host, signal: AbortSignal): Promise<void> => {
  for (const { id } of await host.database.read(ENDED_WITH_LINES, []))
    await removeLines(host.database, String(id), signal)
  for (const row of await host.database.read(UNFINISHED, [])) {
    if (signal.aborted) return
    const batch = batchOf(row)
    try {
      await new BatchMover(host, batch).move()
    } catch (error) {
      // The client cancelled it meanwhile, or another process was faster.
      if (isCode(error, 'BATCH_MOVED')) continue
      host.log.warn({ batch: batch.id, error }, 'a batch could not be moved on')
    }
  }
}

/** Counts the lines once, at the end, and audits the counters of the row by them. */
const auditedCounts = async ({ database, log }: Host, batch: Batch): Promise<BatchCounts> => {
  const [row] = await database.read(COUNTS, [batch.id])
  const counts = {
    total: batch.total,
    completed: Number(row?.completed ?? 0),
    failed: Number(row?.failed ?? 0),
  }
  const [current = {}] = await database.read(FIND_ANY, [batch.id])
  const { completed, failed } = current
  if (Number(completed) !== counts.completed || Number(failed) !== counts.failed)
    log.error(
      { batch: batch.id, counts, row: { completed, failed } },
      'the counters of a batch differ from its lines, which count',
    )
  return counts
}

/** In pages: one transaction over 50,000 outcomes would hold up all others. */
const removeLines = (
  database: Host['database'],
  batch: string,
  signal?: AbortSignal,
): Promise<void> => writePages(database, () => [deleteLines(batch, PAGE)], PAGE, signal)

class BatchMover {
  readonly #host: Host
  readonly #batch: Batch
  readonly #store: FileStore

  constructor(host: Host, batch: Batch) {
    this.#host = host
    this.#batch = batch
    this.#store = fileStoreOf(host)
  }
  async move(): Promise<void> {
    const { state, ending, expires } = this.#batch
    if (state === 'validating' || state === 'in_progress') {
      const refusal = await refusalOfOwner(this.#host, this.#batch.slots)
      if (refusal) return this.#write([cancelBatch(this.#batch, Date.now(), refusal)])
    }
    if (state === 'validating') return this.#validate()
    if (state === 'finalizing') return this.#writeResults(ending ?? 'completed')
    const isExpired = state === 'in_progress' && Date.now() >= expires
    // From now on no further line is claimed.
    if (isExpired && ending === undefined)
      return this.#write([moveBatch(this.#batch, { state, ending: 'expired' }, Date.now())])
    const isEnding = state === 'cancelling' || ending !== undefined
    const open = isEnding ? ANY_RUNNING : ANY_UNFINISHED
    if ((await this.#host.database.read(open, [this.#batch.id])).length > 0) return
    const counts = await auditedCounts(this.#host, this.#batch)
    const unsent = counts.total - counts.completed - counts.failed
    const usual = isExpired && unsent > 0 ? 'expired' : 'completed'
    return this.#finalize(state === 'cancelling' ? 'cancelled' : usual, counts)
  }
  async #validate(): Promise<void> {
    const batch = this.#batch
    const input = new BatchInput(batch.endpoint)
    try {
      const file = await this.#store.find(batch.inputFile, { id: batch.account })
      await input.read(await this.#store.read(file, 0, file.bytes))
    } catch (error) {
      if (!isCode(error, 'FILE_UNKNOWN')) throw error
      input.report('input_file_missing', 'The input file was deleted, or has expired.')
    }
    const now = Date.now()
    if (input.errors.length > 0) return this.#write([failBatch(batch, input.errors, now)])
    // An earlier attempt may have ended after some of its lines.
    await removeLines(this.#host.database, batch.id)
    for (let at = 0; at < input.lines.length; at += PAGE)
      await this.#write(
        input.lines.slice(at, at + PAGE).map(line => addLine({ ...line, batch: batch.id }, now)),
      )
    const total = input.lines.length
    await this.#write([moveBatch(batch, { state: 'in_progress', total }, now)])
  }
  /** Reserves the ids of the files, so that a repetition writes the same files. */
  async #finalize(ending: Ending, counts: BatchCounts): Promise<void> {
    const isExpired = ending === 'expired'
    const unanswered = counts.total - counts.completed
    // Anthropic counts requests that were not sent apart from those that failed.
    const countsAll = isExpired && this.#batch.endpoint !== MESSAGES
    const failed = countsAll ? unanswered : counts.failed
    const move = {
      state: 'finalizing' as const,
      ending,
      completed: counts.completed,
      failed,
      ...(counts.completed > 0 && { outputFile: makeFileId() }),
      ...((isExpired ? unanswered : failed) > 0 && { errorFile: makeFileId() }),
    }
    await this.#write([moveBatch(this.#batch, move, Date.now())])
  }
  async #writeResults(ending: Ending): Promise<void> {
    const { outputFile, errorFile } = this.#batch
    if (outputFile !== undefined) await this.#writeFile(outputFile, 'output', this.#outcomes(true))
    if (errorFile !== undefined) await this.#writeFile(errorFile, 'error', this.#errors(ending))
    await this.#write([moveBatch(this.#batch, { state: ending, ending }, Date.now())])
  }
  async #writeFile(id: string, kind: string, lines: AsyncIterable<string>): Promise<void> {
    const { account, slots, outputLifetime } = this.#batch
    if (await this.#store.exists(id)) return
    const writer = await this.#store.begin(id)
    try {
      for await (const line of lines) await writer.write(Buffer.from(`${line}\n`))
      const created = Date.now()
      const file = {
        account,
        maker: makerOf((slots[ACCOUNT.name] ?? {}) as Partial<Account>),
        purpose: PURPOSE,
        filename: `${this.#batch.id}_${kind}.jsonl`,
        type: 'application/jsonl',
        created,
        expires: created + (outputLifetime ?? this.#store.settings.batchLifetime),
      }
      // The requests are charged: their results are stored beyond the quota, too.
      await this.#store.save(writer, file, NO_QUOTA)
    } catch (error) {
      await writer.abort().catch(() => {})
      throw error
    }
  }
  async *#outcomes(isOk: boolean): AsyncGenerator<string> {
    const values = [this.#batch.id, isOk ? 1 : 0, 0]
    for await (const rows of this.#host.database.pages(OUTCOMES, values, OUTCOME_PAGE))
      yield* rows.map(({ outcome }) => String(outcome))
  }
  async *#errors(ending: Ending): AsyncGenerator<string> {
    yield* this.#outcomes(false)
    if (ending !== 'expired') return
    const message = 'This request could not be executed before the completion window expired.'
    for await (const rows of this.#host.database.pages(UNSENT, [this.#batch.id, 0], PAGE))
      yield* rows.map(row => errorOutcome(lineOf(row), EXPIRED, message))
  }
  async #write(list: readonly Statement[]): Promise<void> {
    await writeWithRetry(this.#host.database, list)
  }
}
