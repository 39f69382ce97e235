/** Copies the files of results into the file store, before their tasks end: in each process a few
 *  at a time, apart from the tasks that are submitted and polled. A task that is being copied has
 *  `copy_due`, and is due for nothing else. */
import { once } from 'node:events'
import { errors } from '../../../engine/errors.ts'
import { isCode } from '../../../engine/kit.ts'
import type { Bytes, Host, Reply, Row } from '../../../engine/plugin.ts'
import { discardBody } from '../../conversion/upstream-error.ts'
import { refusalOfOwner } from '../../credentials/work-owner.ts'
import { fileStoreOf } from '../../file-store/file-store.ts'
import { writeOwnFile } from '../../file-store/own-files.ts'
import { addOwnFile } from '../../file-store/statements.ts'
import type { StoredFile } from '../../file-store/stored-file.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { hostOf } from '../../webhooks/address.ts'
import { Mover } from '../moves.ts'
import { ANY_COPY_DUE, claimCopies, readClaimed } from '../statements.ts'
import { type Task, taskOf } from '../task.ts'
import { dataOf, isWebUrl, missingSources, type Source, withoutData } from './results.ts'

const fault = errors({
  RESULT_REFUSED: [502, 'the address of a result answered with status %d', { expose: false }],
})

/** Tasks whose results one process copies at a time: with a bucket each takes 8 MiB. */
const CONCURRENT = 4
/** ms for one file, and its bytes. */
const FILE_TIMEOUT = 900_000
const MAX_BYTES = 2 * 2 ** 30
const MAX_REDIRECTS = 3
/** ms between two attempts. After the last one the customer gets the upstream's link. */
const COPY_DELAYS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 300_000, 300_000]
/** Ends of the names of files, by the member of the result. */
const STEMS: Readonly<Record<string, string>> = {
  cover_url: '-cover',
  watermarked_url: '-watermarked',
}
/** Faults that another attempt does not change. */
const LASTING = ['FILE_TOO_LONG', 'EGRESS_ADDRESS', 'EGRESS_URL']

export class ResultCopier {
  /** The copies under way, by task. */
  readonly #copies = new Map<string, Promise<void>>()
  readonly #closing = new AbortController()

  /** Copies everything that is due. Resolves when nothing more is due, or `signal` aborts. */
  async run(host: Host, signal: AbortSignal): Promise<void> {
    const aborted = once(signal, 'abort')
    while (!signal.aborted) {
      const free = CONCURRENT - this.#copies.size
      const rows = free > 0 ? await this.#claim(host, free) : []
      for (const row of rows) this.#begin(host, taskOf(row), Number(row.expires))
      if (rows.length < free) return
      await Promise.race([aborted, ...this.#copies.values()])
    }
  }
  /** Resolves when the copies under way have stopped. Another process goes on with them. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#copies.values())
  }
  /** Also finds tasks that this process has and does not work on: the result of their claim was
   *  lost, or a write failed. */
  async #claim({ database, membership }: Host, most: number): Promise<readonly Row[]> {
    const [due] = await database.read(ANY_COPY_DUE, [Date.now()])
    if (!due) return []
    const process = await membership.name()
    const claim = claimCopies(process, [...this.#copies.keys()], Date.now(), most)
    const [claimed = []] = await writeWithRetry(database, [claim])
    return readClaimed(database, process, claimed)
  }
  #begin(host: Host, task: Task, expires: number): void {
    const copy = this.#copy(host, task, expires)
      .catch(error => {
        // Another process has the task now.
        if (isCode(error, 'TASK_MOVED', 'CHARGE_CLOSED') || this.#closing.signal.aborted) return
        host.log.warn({ task: task.id, error }, 'the results of a task could not be copied')
      })
      .finally(() => this.#copies.delete(task.id))
    this.#copies.set(task.id, copy)
  }
  async #copy(host: Host, task: Task, expires: number): Promise<void> {
    const { signal } = this.#closing
    const mover = new Mover(host, task, await host.membership.name(), () => !signal.aborted)
    const failures: Failure[] = []
    // An owner without access gets nothing more: the task ends with the upstream's links.
    const sources = (await refusalOfOwner(host, task.slots)) ? [] : missingSources(task)
    for (const source of sources) {
      try {
        const stem = `${task.id}${STEMS[source.member] ?? ''}-${source.result + 1}`
        const file = await storeSource(host, source, { stem, expires, signal })
        const { result, member } = source
        const copy = { result, member, file: file.id, name: file.filename }
        await mover.addCopy(copy, addOwnFile(file))
      } catch (error) {
        if (signal.aborted) return mover.copyAgain()
        if (isCode(error, 'TASK_MOVED')) throw error
        failures.push({ source, error })
      }
    }
    const delay = COPY_DELAYS[task.failures]
    const isLasting = failures.every(({ error }) => isCode(error, ...LASTING))
    if (!isLasting && delay !== undefined) return mover.copyAgain(delay)
    for (const failure of failures) warnOfLink(host, task, failure)
    host.metrics.count('task_copies_total', { outcome: failures.length > 0 ? 'linked' : 'copied' })
    return mover.finish({ results: withoutData(task.results, mover.task.copies) })
  }
}

interface Failure {
  readonly source: Source
  readonly error: unknown
}
const warnOfLink = ({ log }: Pick<Host, 'log'>, { id }: Task, { source, error }: Failure): void => {
  const { text, member } = source
  const from = isWebUrl(text) ? hostOf(text) : 'the answer'
  const message = "the file of a result could not be copied: the customer gets the upstream's link"
  log.warn({ task: id, member, from, error }, message)
}

interface Destination {
  readonly stem: string
  readonly expires: number
  readonly signal: AbortSignal
}
/** Makes the bytes of a source durable; its row is not written yet. */
const storeSource = async (
  host: Host,
  source: Source,
  { stem, expires, signal }: Destination,
): Promise<StoredFile> => {
  const chunks = isWebUrl(source.text)
    ? await download(host, source.text, signal)
    : [dataOf(source)]
  const file = { purpose: 'result', stem, expires } as const
  return writeOwnFile(fileStoreOf(host), chunks, file, MAX_BYTES)
}
/** Every address on the way must be one that the egress rules allow. */
const download = async (
  host: Pick<Host, 'send'>,
  url: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Bytes> | Iterable<Bytes>> => {
  let path = url
  for (let redirects = 0; ; redirects++) {
    const headers = { accept: '*/*' }
    const call = { method: 'GET', path, headers, timeout: FILE_TIMEOUT, signal }
    const reply = await host.send('public', call)
    if (reply.status === 200) return chunksOf(reply)
    await discardBody(reply)
    const next = redirects < MAX_REDIRECTS ? redirectOf(reply, path) : undefined
    if (next === undefined) throw fault('RESULT_REFUSED', [reply.status])
    path = next
  }
}
const chunksOf = ({ body }: Reply): AsyncIterable<Bytes> | Iterable<Bytes> =>
  body instanceof Uint8Array ? [body] : (body ?? [])
const redirectOf = ({ status, headers }: Reply, from: string): string | undefined => {
  const { location } = headers
  const isRedirect = status >= 300 && status < 400 && typeof location === 'string'
  return isRedirect && URL.canParse(location, from) ? new URL(location, from).href : undefined
}
