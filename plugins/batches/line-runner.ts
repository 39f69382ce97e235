/** Runs the lines of batches: each is a metered call through the stages behind `auth`, and its
 *  outcome is stored in the transaction of its charge. One per process; a dead one's lines are
 *  freed when it is reaped. */
import { asFault } from '../../engine/errors.ts'
import { isCode, retryAfterIn } from '../../engine/kit.ts'
import type { Exchange, Fault, Host, Json } from '../../engine/plugin.ts'
import { BodyRecorder } from '../conversion/body-recorder.ts'
import { refusalOfOwner } from '../credentials/work-owner.ts'
import { bodyOf, dialectOf } from '../dialects/index.ts'
import { fileStoreOf } from '../file-store/file-store.ts'
import { isFields } from '../formats/fields.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { PRICE_FACTOR } from '../slots.ts'
import { type Batch, batchOf, type Line, lineOf, MESSAGES } from './batch.ts'
import { type EndedLine, failureOfFault, failureOfReply, reportLine } from './line-calls.ts'
import { answerOutcome, errorOutcome, parseBody } from './outcome.ts'
import type { BatchSettings } from './settings.ts'
import { ANY_DUE, claimLines, FIND_ANY, finishLine, OWNED, retryLine } from './statements.ts'

/** How often a line is sent whose answer was lost. */
const MAX_ATTEMPTS = 3
/** ms until a line is sent again: after the first failure, and the longest. */
const FIRST_PAUSE = 2_000
const LONGEST_PAUSE = 60_000
/** ms until a line is looked at again whose owner has lost access. */
const OWNER_PAUSE = 1_000
/** Bytes of the largest answer. */
const MAX_ANSWER = 16 * 1024 * 1024
/** Codes of faults: the account or its key cannot pay; the answer is larger than `MAX_ANSWER`, and
 *  would be so again. */
const SHORTAGES: ReadonlySet<string> = new Set(['INSUFFICIENT', 'KEY_EXHAUSTED'])
const TOO_LARGE = 'REPLY_TOO_LARGE'
/** Of a line that was sent `MAX_ATTEMPTS` times without an answer. */
const NO_ANSWER: Failure = {
  status: 500,
  code: 'server_error',
  message: `The answer was lost ${MAX_ATTEMPTS} times.`,
}
/** Statuses of a busy upstream, or of a limit of the account: they count as no attempt. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503])

type Failure = NonNullable<EndedLine['failure']>
interface Refusal {
  readonly status: number
  readonly body: Json
  /** ms. */
  readonly wait: number
  /** Of a fault. */
  readonly code?: string
  readonly failure: Failure
  /** Whether the fault says when to retry: other calls hold the money that the line lacks. */
  readonly mayPass?: boolean
}

export class LineRunner {
  /** The lines under way, by batch and number. */
  readonly #running = new Map<string, Promise<void>>()
  /** A claim or a line failed: this process may own lines that it does not work on. */
  #mayOwnOthers = false
  #isClosed = false

  /** Starts as many lines as this process may run. `wake`: runs this again soon. */
  async run(host: Host, settings: BatchSettings, wake: () => void): Promise<void> {
    await this.#giveBackOthers(host)
    const free = settings.concurrency - this.#running.size
    const lines = free > 0 && !this.#isClosed ? await this.#claim(host, free) : []
    for (const line of lines) {
      const completion = this.#run(host, settings, line).finally(() => {
        this.#running.delete(nameOf(line))
        if (this.#running.size <= settings.concurrency / 2) wake()
      })
      this.#running.set(nameOf(line), completion)
    }
  }
  /** Resolves when the lines under way have ended; the drain cuts them. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#running.values())
  }
  async #claim(host: Host, most: number): Promise<readonly Line[]> {
    const now = Date.now()
    // Every process looks twice a second: nearly always there is nothing to write.
    const [due] = await host.database.read(ANY_DUE, [now])
    if (!due) return []
    const process = await host.membership.name()
    try {
      const [rows = []] = await writeWithRetry(host.database, [claimLines(process, now, most)])
      return rows.map(lineOf)
    } catch (error) {
      this.#mayOwnOthers = true
      throw error
    }
  }
  /** Gives lines back that this process owns and does not work on: the result of a write was lost.
   *  Their next attempt has another id. */
  async #giveBackOthers({ membership, database }: Host): Promise<void> {
    if (!this.#mayOwnOthers) return
    const process = await membership.name()
    const rows = await database.read(OWNED, [process])
    const lines = rows.map(lineOf).filter(line => !this.#running.has(nameOf(line)))
    if (lines.length > 0)
      await writeWithRetry(
        database,
        lines.map(line => retryLine(line, process, Date.now())),
      )
    this.#mayOwnOthers = false
  }
  async #run(host: Host, settings: BatchSettings, line: Line): Promise<void> {
    try {
      const [row] = await host.database.read(FIND_ANY, [line.batch])
      const process = await host.membership.name()
      if (row) await new LineCall(host, batchOf(row), line, process).run(settings)
    } catch (error) {
      // Another process has the line now.
      if (isCode(error, 'LINE_MOVED')) return
      this.#mayOwnOthers = true
      host.log.warn({ batch: line.batch, line: line.line, error }, 'a line could not be finished')
    }
  }
}
const nameOf = ({ batch, line }: Line): string => `${batch} ${line}`

type LineHeaders = Readonly<Record<string, string>>

/** One attempt at a line. */
class LineCall {
  readonly #host: Host
  readonly #batch: Batch
  readonly #line: Line
  readonly #process: string
  readonly #started = Date.now()
  #exchange: Exchange | undefined

  constructor(host: Host, batch: Batch, line: Line, process: string) {
    this.#host = host
    this.#batch = batch
    this.#line = line
    this.#process = process
  }
  async run(settings: BatchSettings): Promise<void> {
    const { attempts, waits } = this.#line
    if (attempts - waits > MAX_ATTEMPTS)
      return this.#fail(errorOutcome(this.#line, NO_ANSWER.code, NO_ANSWER.message), NO_ANSWER)
    // The batch is cancelled within a second: see `BatchMover`.
    if (await refusalOfOwner(this.#host, this.#batch.slots))
      return this.#retry({ ...this.#line, waits: waits + 1 }, OWNER_PAUSE)
    const refusal = await this.#send(settings)
    if (!refusal) return this.#report()
    const { status, body, wait, code } = refusal
    if (BUSY_STATUSES.has(status)) return this.#retry({ ...this.#line, waits: waits + 1 }, wait)
    if (code !== undefined && SHORTAGES.has(code) && refusal.mayPass)
      return this.#retry({ ...this.#line, waits: waits + 1 }, FIRST_PAUSE)
    if (status >= 500 && code !== TOO_LARGE && attempts - waits < MAX_ATTEMPTS)
      return this.#retry(this.#line, wait)
    const answer = { status, request: this.#requestId, body }
    return this.#fail(answerOutcome(this.#line, answer), refusal.failure)
  }
  /** Undefined: the outcome is stored, together with the charge. */
  async #send({ factor }: BatchSettings): Promise<Refusal | undefined> {
    const { slots, endpoint, route } = this.#batch
    let hasOutcome = false
    const handle = async (exchange: Exchange, next: () => Promise<void>): Promise<void> => {
      this.#exchange = exchange
      exchange.slots.set(PRICE_FACTOR, factor)
      await next()
      const { reply, writes } = exchange
      if (reply.status >= 300) return
      hasOutcome = true
      reply.through(
        new BodyRecorder(MAX_ANSWER, {
          onEnd: bytes => {
            if (!bytes) return
            const answer = { status: reply.status, request: exchange.id, body: parseBody(bytes) }
            const outcome = answerOutcome(this.#line, answer)
            writes.add(...finishLine(this.#line, this.#process, outcome, true))
          },
        }),
      )
    }
    try {
      const { body, headers } = await this.#readRequest()
      const reply = await this.#host.run(route, {
        after: 'auth',
        id: this.#requestId,
        request: {
          method: 'POST',
          path: endpoint,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'content-length': String(body.length),
          },
          body,
        },
        slots,
        targets: [],
        handle,
      })
      const bytes = await reply.bytes(MAX_ANSWER)
      if (hasOutcome) return undefined
      return {
        status: reply.status,
        body: parseBody(bytes),
        wait: this.#pause(reply.headers),
        failure: failureOfReply(this.#exchange, reply.status, bytes),
      }
    } catch (error) {
      const fault = asFault(error)
      if (isCode(error, 'LINE_MOVED', 'STORE_UNKNOWN')) throw error
      const { route } = this.#host.match('POST', endpoint)
      const body = bodyOf((route && dialectOf(route)) ?? 'openai', fault, this.#requestId)
      const { code, status, headers = {} } = fault
      const mayPass = headers['retry-after'] !== undefined
      const failure = failureOfFault(fault)
      return { code, status, body, wait: this.#pause(headers), mayPass, failure }
    }
  }
  /** The body of the line in the input file, and the headers of a file that the gateway wrote. */
  async #readRequest(): Promise<{ readonly body: Buffer; readonly headers: LineHeaders }> {
    const store = fileStoreOf(this.#host)
    const { inputFile, account, endpoint } = this.#batch
    const file = await store.find(inputFile, { id: account })
    const { start, size } = this.#line
    const chunks: Uint8Array[] = []
    for await (const chunk of await store.read(file, start, start + size)) chunks.push(chunk)
    const entry = JSON.parse(Buffer.concat(chunks).toString()) as Json
    const { body = null, headers = {} } = isFields(entry) ? entry : {}
    return {
      body: Buffer.from(JSON.stringify(body)),
      headers: endpoint === MESSAGES ? (headers as LineHeaders) : {},
    }
  }
  /** Another for each attempt: an earlier one may have left a hold that is not released yet. */
  get #requestId(): string {
    const { batch, line, attempts } = this.#line
    return `${batch.replace('batch', 'req')}_${line}_${attempts}`
  }
  #pause(headers: NonNullable<Fault['headers']>): number {
    const retryAfter = retryAfterIn(headers) ?? 0
    const pause = FIRST_PAUSE * 2 ** Math.min(5, this.#line.attempts)
    return Math.min(LONGEST_PAUSE, Math.max(retryAfter, pause)) * (0.9 + Math.random() * 0.2)
  }
  async #fail(outcome: string, failure: Failure): Promise<void> {
    await writeWithRetry(this.#host.database, finishLine(this.#line, this.#process, outcome, false))
    this.#report(failure)
  }
  #report(failure?: Failure): void {
    const [batch, started, exchange] = [this.#batch, this.#started, this.#exchange]
    reportLine(this.#host, { batch, request: this.#requestId, started, exchange, failure })
  }
  async #retry(line: Line, wait: number): Promise<void> {
    const due = Math.round(Date.now() + wait)
    await writeWithRetry(this.#host.database, [retryLine(line, this.#process, due)])
  }
}
