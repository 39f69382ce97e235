/** Background responses: stored as queued together with their call, answered at once, and then run
 *  through the later stages like any request. One object per process. If a process ends, another
 *  runs its calls again: a response and its charge are one transaction, so that it is charged
 *  once. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Database, Exchange, Fault, Host, Log, Membership } from '../../engine/plugin.ts'
import { refusalOfOwner } from '../credentials/work-owner.ts'
import { checkNamedFiles } from '../file-store/request-references.ts'
import { type Fields, isFields, lenientObject, lenientText, parseJson } from '../formats/fields.ts'
import { withoutUnpriced } from '../ledger/admission/configured-prices.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { Undo } from '../undo/undo.ts'
import {
  type BackgroundCall,
  bodyOf,
  callOf,
  inputPieces,
  type QueuedAnswer,
  readCall,
  slotsOf,
  storeQueued,
} from './background-request.ts'
import { fault } from './faults.ts'
import { STOPPED_ERROR } from './response-store.ts'
import {
  finishResponse,
  forgetCall,
  type ResponseRow,
  RUNNING,
  releaseResponse,
  takeResponse,
  WAITING_CALLS,
  withdrawResponse,
} from './statements.ts'
import type { StorageLimits } from './storage-options.ts'
import { storeWithCharge } from './store-with-charge.ts'

/** ms between two polls for cancelled responses, while any runs. */
const POLL_MS = 500
/** How often a call is begun whose processes end. */
const MAX_ATTEMPTS = 5
/** Calls that one look at the store takes over. */
const PAGE = 20

export class BackgroundCalls {
  readonly #database: Pick<Database, 'read' | 'write'>
  readonly #log: Log
  readonly #membership: Membership
  readonly #limits: StorageLimits
  readonly #running = new Map<
    string,
    { readonly stop: AbortController; readonly completion: Promise<void> }
  >()
  /** Responses that begin once their clients are answered. */
  readonly #delayed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** A write failed: this process may own responses that it does not run. */
  #mayOwnOthers = false

  constructor({ database, log, membership }: Host, limits: StorageLimits) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    this.#limits = limits
  }
  /** Resolves once the queued response is stored and answered. */
  async start(exchange: Exchange, host: Host, queued: QueuedAnswer): Promise<void> {
    const { id, answer: queuedResponse } = queued
    const response = JSON.stringify(queuedResponse)
    // Its answer could not be stored: it repeats instructions, tools and metadata.
    const { largest } = this.#limits
    if (response.length > largest) throw fault('BACKGROUND_TOO_LARGE', [largest])
    const input = await inputPieces(queued.input, largest)
    // The call runs after its answer: a file that it lacks is refused now.
    await checkNamedFiles(host, exchange, queued.body)
    const { body, dropped } = withoutUnpriced(host, exchange, queued.body)
    const call = await callOf(exchange, queued, body, input)
    const process = await this.#membership.name()
    exchange.onEnd(({ fault }) => {
      if (fault?.code === 'RESPONSE_REAPED') this.#membership.reportExpelled(process)
    })
    const row = this.#rowOf(queued, response)
    await storeQueued(exchange, call, row, { host, process })
    const key = nameOf(call.account, id)
    this.#delayed.add(key)
    Undo.of(exchange).add({
      undo: [withdrawResponse(call.account, id)],
      onUndo: () => void this.#delayed.delete(key),
      onKept: () => {
        this.#delayed.delete(key)
        this.#begin(host, call, exchange.id)
      },
    })
    const reply = exchange.answer(200, queuedResponse)
    dropped?.report(reply, this.#log, exchange.id)
  }
  /** Runs the calls that no process runs. */
  async resume(host: Host): Promise<void> {
    await this.#giveBackOthers()
    const rows = this.#isClosed ? [] : await this.#database.read(WAITING_CALLS, [PAGE])
    for (const { account, response, attempts } of rows) {
      const call = await this.#take(Number(account), String(response))
      if (!call) continue
      const attempt = Number(attempts) + 1
      if (attempt > MAX_ATTEMPTS) await this.#fail(call, STOPPED_ERROR)
      else this.#begin(host, call, `${call.request}_${attempt}`)
    }
  }
  /** Undefined if another process has taken it, or it was cancelled. */
  async #take(account: number, id: string): Promise<BackgroundCall | undefined> {
    try {
      const process = await this.#membership.name()
      await writeWithRetry(this.#database, [...takeResponse(account, id, process)])
      return await readCall(this.#database, account, id)
    } catch (error) {
      if (isCode(error, 'RESPONSE_TAKEN')) return undefined
      this.#mayOwnOthers = true
      throw error
    }
  }
  /** Aborts the running calls and waits until their results are stored. The drain before has waited
   *  for them or cut them. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.all([...this.#running.values()].map(({ completion }) => completion))
  }
  #rowOf({ id, storage }: QueuedAnswer, response: string): ResponseRow {
    const { account, maker, created, previous, conversation } = storage
    const expires = created + this.#limits.lifetime
    return {
      account,
      maker,
      id,
      created,
      expires,
      previous,
      conversation,
      status: 'in_progress',
      response,
    }
  }
  /** `request`: the id of this attempt. */
  #begin(host: Host, call: BackgroundCall, request: string): void {
    const stop = new AbortController()
    const completion = this.#run(host, call, request, stop.signal)
    const key = nameOf(call.account, call.id)
    this.#running.set(key, { stop, completion })
    void completion.finally(() => this.#running.delete(key))
    this.#timer ??= setInterval(() => void this.#abortCancelled(), POLL_MS).unref()
  }
  async #run(
    host: Host,
    call: BackgroundCall,
    request: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { route, path, headers, targets } = call
    const slots = slotsOf(call)
    try {
      const refusal = await refusalOfOwner(host, slots)
      if (refusal) throw refusal
      const reply = await host.run(route, {
        after: 'responses',
        id: request,
        signal,
        targets,
        slots,
        request: { method: 'POST', path, headers, body: await bodyOf(call) },
        async handle(exchange, next) {
          await next()
          storeWithCharge(exchange)
        },
      })
      const bytes = await reply.bytes(this.#limits.largest)
      await this.#fail(
        call,
        reply.status < 300 ? errorOf(fault('BACKGROUND_UNREADABLE')) : upstreamErrorIn(bytes),
      )
    } catch (error) {
      const reason = asFault(error)
      this.#log.info({ id: call.id, code: reason.code }, 'background response failed')
      await (reason.code === 'TURN_DRAINED'
        ? this.#release(call)
        : this.#fail(call, errorOf(reason)))
    }
  }
  /** Gives responses back that this process owns and does not run: the result of a write was
   *  lost. */
  async #giveBackOthers(): Promise<void> {
    if (!this.#mayOwnOthers) return
    const process = await this.#membership.name()
    const rows = await this.#database.read(RUNNING, [process])
    const isOther = (name: string): boolean => !this.#running.has(name) && !this.#delayed.has(name)
    const list = rows
      .filter(({ account, id }) => isOther(nameOf(Number(account), String(id))))
      .map(({ account, id }) => releaseResponse(Number(account), String(id), process))
    if (list.length > 0) await writeWithRetry(this.#database, list)
    this.#mayOwnOthers = false
  }
  /** Leaves the call to another process, or to the next start. */
  async #release({ account, id }: BackgroundCall): Promise<void> {
    try {
      const process = await this.#membership.name()
      await writeWithRetry(this.#database, [releaseResponse(account, id, process)])
    } catch (error) {
      this.#mayOwnOthers = true
      this.#log.warn({ id, error }, 'could not release a background response')
    }
  }
  /** Marks the response as failed. Does nothing if it is stored already, or was cancelled. */
  async #fail(call: BackgroundCall, { code, message }: Fields): Promise<void> {
    const { account, id, queuedResponse, failure = 'error' } = call
    const error = { code, message }
    const member = { [failure]: failure === 'error' ? error : [error] }
    const response = { ...queuedResponse, status: 'failed', ...member }
    const list = [
      finishResponse(account, id, 'failed', JSON.stringify(response)),
      forgetCall(account, id),
    ]
    await writeWithRetry(this.#database, list).catch(error => {
      this.#mayOwnOthers = true
      this.#log.warn({ id, error }, 'could not store the failure of a background response')
    })
  }
  async #readRunning() {
    return this.#database.read(RUNNING, [await this.#membership.name()])
  }
  /** Aborts calls whose row no longer belongs to this process: a process has cancelled or deleted
   *  the response. */
  async #abortCancelled(): Promise<void> {
    const running = [...this.#running]
    if (running.length === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const rows = await this.#readRunning().catch(() => undefined)
    if (!rows) return
    const current = new Set(rows.map(({ account, id }) => nameOf(Number(account), String(id))))
    for (const [name, { stop }] of running) if (!current.has(name)) stop.abort()
  }
}

const nameOf = (account: number, id: string): string => `${account} ${id}`

/** The error as the client sees it. */
const errorOf = ({ code, message, expose }: Fault): Fields => ({
  code: expose ? code.toLowerCase() : 'server_error',
  message: expose ? message : 'The gateway failed to create this response.',
})
const upstreamErrorIn = (bytes: Uint8Array): Fields => {
  const body = parseJson(Buffer.from(bytes).toString())
  const error = lenientObject(isFields(body) ? body : {}, 'error')
  return {
    code: lenientText(error, 'code') ?? lenientText(error, 'status') ?? 'server_error',
    message: lenientText(error, 'message') ?? 'The upstream refused this response.',
  }
}
