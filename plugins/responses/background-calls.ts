/** Background responses: stored as queued, answered at once, and then run through the later stages
 *  like any request. One object per process; its responses fail if the process ends. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Database, Exchange, Fault, Host, Log, Membership } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientText } from '../formats/fields.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { MODEL } from '../slots.ts'
import { fault } from './faults.ts'
import { STOPPED_ERROR } from './response-store.ts'
import { beginResponse, finishResponse, RUNNING } from './statements.ts'
import { STORAGE, type StorageLimits, type StorageRequest } from './storage-options.ts'

/** ms between two polls for cancelled responses, while any runs. */
const POLL_MS = 500

export class BackgroundCalls {
  readonly #database: Pick<Database, 'read' | 'write'>
  readonly #log: Log
  readonly #membership: Membership
  readonly #limits: StorageLimits
  readonly #running = new Map<
    string,
    { readonly stop: AbortController; completion: Promise<void> }
  >()
  #timer: NodeJS.Timeout | undefined

  constructor({ database, log, membership }: Host, limits: StorageLimits) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    this.#limits = limits
  }
  /** Resolves once the queued response is stored and answered. */
  async start(
    exchange: Exchange,
    host: Host,
    storage: StorageRequest,
    body: Fields,
    expandedBody: Fields,
  ): Promise<void> {
    const id = `resp_${exchange.id.replace(/^req_/, '')}`
    const echo = echoOf(storage)
    const queuedResponse = { ...queuedResponseOf(id, exchange, storage, body), ...echo }
    await this.#storeQueued(id, storage, queuedResponse)
    const stop = new AbortController()
    const backgroundStorage = { ...storage, background: { id, echo } }
    const completion = this.#run(
      exchange,
      host,
      backgroundStorage,
      queuedResponse,
      expandedBody,
      stop.signal,
    )
    const key = nameOf(storage.account, id)
    this.#running.set(key, { stop, completion: completion })
    void completion.finally(() => this.#running.delete(key))
    this.#timer ??= setInterval(() => void this.#abortCancelled(), POLL_MS).unref()
    exchange.answer(200, queuedResponse)
  }
  /** Aborts the running calls and waits until their results are stored. The drain before has waited
   *  for them or cut them. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.all([...this.#running.values()].map(({ completion }) => completion))
  }
  async #storeQueued(id: string, storage: StorageRequest, queuedResponse: Fields): Promise<void> {
    const { account, created, input, previous, conversation } = storage
    const response = JSON.stringify(queuedResponse)
    const row = {
      account,
      id,
      created,
      expires: created + this.#limits.lifetime,
      previous,
      conversation,
      status: 'in_progress',
      input,
      response,
    }
    const process = await this.#membership.name()
    try {
      await writeWithRetry(this.#database, [beginResponse(row, process)])
    } catch (error) {
      if (!isCode(error, 'RESPONSE_REAPED')) throw error
      this.#membership.reportExpelled(process)
      throw fault('BACKGROUND_LOST')
    }
  }
  async #run(
    { id, request, route, targets, slots }: Exchange,
    host: Host,
    storage: StorageRequest,
    queuedResponse: Fields,
    expandedBody: Fields,
    signal: AbortSignal,
  ): Promise<void> {
    const body = Buffer.from(JSON.stringify({ ...expandedBody, store: false }))
    const fail = (reason: Fields): Promise<void> => this.#fail(storage, queuedResponse, reason)
    try {
      const reply = await host.run(route.name, {
        after: 'responses',
        id,
        signal,
        targets,
        slots: { ...slots.toJson(), [STORAGE.name]: { ...storage } },
        request: { method: request.method, path: request.path, headers: headersOf(request), body },
      })
      const bytes = await reply.bytes(this.#limits.largest)
      await fail(
        reply.status < 300 ? errorOf(fault('BACKGROUND_UNREADABLE')) : upstreamErrorIn(bytes),
      )
    } catch (error) {
      const reason = asFault(error)
      this.#log.info({ id, code: reason.code }, 'background response failed')
      await fail(reason.code === 'TURN_DRAINED' ? STOPPED_ERROR : errorOf(reason))
    }
  }
  /** Marks the response as failed. Does nothing if it is stored already, or was cancelled. */
  async #fail(
    { account, background }: StorageRequest,
    queuedResponse: Fields,
    { code, message }: Fields,
  ): Promise<void> {
    const response = { ...queuedResponse, status: 'failed', error: { code, message } }
    const list = [finishResponse(account, background?.id ?? '', 'failed', JSON.stringify(response))]
    await writeWithRetry(this.#database, list).catch(error =>
      this.#log.warn(
        { id: background?.id, error },
        'could not store the failure of a background response',
      ),
    )
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
    const process = await this.#membership.name()
    const rows = await this.#database.read(RUNNING, [process]).catch(() => undefined)
    if (!rows) return
    const current = new Set(rows.map(({ account, id }) => nameOf(Number(account), String(id))))
    for (const [name, { stop }] of running) if (!current.has(name)) stop.abort()
  }
}

const nameOf = (account: number, id: string): string => `${account} ${id}`

const echoOf = ({ previous, conversation }: StorageRequest): Fields => ({
  background: true,
  store: true,
  previous_response_id: previous ?? null,
  ...(conversation !== undefined && { conversation: { id: conversation } }),
})
const queuedResponseOf = (
  id: string,
  { slots }: Exchange,
  { created }: StorageRequest,
  body: Fields,
): Fields => ({
  id,
  object: 'response',
  created_at: Math.floor(created / 1_000),
  completed_at: null,
  status: 'queued',
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
  model: slots.get(MODEL)?.asked ?? '',
  instructions: body.instructions ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  tools: body.tools ?? [],
  temperature: body.temperature ?? 1,
  top_p: body.top_p ?? 1,
  tool_choice: body.tool_choice ?? 'auto',
  text: body.text ?? {},
})

/** Headers that the background call keeps: no credentials, no message framing. */
const FORWARDED_HEADER = /^(?:x-tollgate-strict|openai-.*|traceparent)$/
const headersOf = ({ headers }: Exchange['request']): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && FORWARDED_HEADER.test(name) ? [[name, value]] : [],
    ),
  ),
  'content-type': 'application/json',
})

/** The error as the client sees it. */
const errorOf = ({ code, message, expose }: Fault): Fields => ({
  code: expose ? code.toLowerCase() : 'server_error',
  message: expose ? message : 'The gateway failed to create this response.',
})
const upstreamErrorIn = (bytes: Uint8Array): Fields => {
  let body: unknown
  try {
    body = JSON.parse(Buffer.from(bytes).toString())
  } catch {}
  const error = lenientObject(isFields(body as Fields) ? (body as Fields) : {}, 'error')
  return {
    code: lenientText(error, 'code') ?? 'server_error',
    message: lenientText(error, 'message') ?? 'The upstream refused this response.',
  }
}
