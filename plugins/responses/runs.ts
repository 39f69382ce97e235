/** Responses that are made in the background: written down, answered at once, and then called as any request is, by the
 *  stages behind. One per process: what it makes is its own, and fails with it. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Database, Exchange, Fault, Host, Log, Membership } from '../../engine/plugin.ts'
import { type Fields, inner, isFields, wordIn } from '../formats/fields.ts'
import { writeSurely } from '../ledger/surely.ts'
import { MODEL } from '../slots.ts'
import { fault } from './faults.ts'
import { KEEPING, type Keeping, type Limits } from './keeping.ts'
import { STOPPED } from './shelf.ts'
import { beginResponse, finishResponse, RUNNING } from './statements.ts'

/** ms between two looks at what was cancelled, while anything runs. */
const LOOK = 500

export class Runs {
  readonly #database: Pick<Database, 'read' | 'write'>
  readonly #log: Log
  readonly #membership: Membership
  readonly #limits: Limits
  readonly #running = new Map<string, { readonly stop: AbortController; over: Promise<void> }>()
  #timer: NodeJS.Timeout | undefined

  constructor({ database, log, membership }: Host, limits: Limits) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    this.#limits = limits
  }
  /** Resolves when it is written down and answered. */
  async start(
    exchange: Exchange,
    host: Host,
    keeping: Keeping,
    asked: Fields,
    whole: Fields,
  ): Promise<void> {
    const id = `resp_${exchange.id.replace(/^req_/, '')}`
    const echo = echoOf(keeping)
    const queued = { ...queuedOf(id, exchange, keeping, asked), ...echo }
    await this.#begin(id, keeping, queued)
    const stop = new AbortController()
    const made = { ...keeping, made: { id, echo } }
    const over = this.#run(exchange, host, made, queued, whole, stop.signal)
    const key = nameOf(keeping.account, id)
    this.#running.set(key, { stop, over })
    void over.finally(() => this.#running.delete(key))
    this.#timer ??= setInterval(() => void this.#look(), LOOK).unref()
    exchange.answer(200, queued)
  }
  /** Whoever leaves has waited for its turns or cut them: what is left is to write down how they ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.all([...this.#running.values()].map(({ over }) => over))
  }
  async #begin(id: string, keeping: Keeping, queued: Fields): Promise<void> {
    const { account, created, input, previous, conversation } = keeping
    const response = JSON.stringify(queued)
    const row = {
      ...{ account, id, created, expires: created + this.#limits.kept },
      ...{ previous, conversation, status: 'in_progress', input, response },
    }
    const process = await this.#membership.name()
    try {
      await writeSurely(this.#database, [beginResponse(row, process)])
    } catch (thrown) {
      if (!isCode(thrown, 'RESPONSE_BURIED')) throw thrown
      this.#membership.expelled(process)
      throw fault('BACKGROUND_LOST')
    }
  }
  async #run(
    { id, request, route, targets, slots }: Exchange,
    host: Host,
    keeping: Keeping,
    queued: Fields,
    whole: Fields,
    signal: AbortSignal,
  ): Promise<void> {
    const body = Buffer.from(JSON.stringify({ ...whole, store: false }))
    const failed = (reason: Fields): Promise<void> => this.#fail(keeping, queued, reason)
    try {
      const reply = await host.run(route.name, {
        ...{ after: 'responses', id, signal, targets },
        slots: { ...slots.saved(), [KEEPING.name]: { ...keeping } },
        request: { method: request.method, path: request.path, headers: headersOf(request), body },
      })
      const bytes = await reply.bytes(this.#limits.largest)
      await failed(reply.status < 300 ? errorOf(fault('BACKGROUND_UNREADABLE')) : saidIn(bytes))
    } catch (thrown) {
      const reason = asFault(thrown)
      this.#log.info({ id, code: reason.code }, 'a response in the background failed')
      await failed(reason.code === 'TURN_DRAINED' ? STOPPED : errorOf(reason))
    }
  }
  /** Nothing happens where its answer was kept, or somebody cancelled it. */
  async #fail(
    { account, made }: Keeping,
    queued: Fields,
    { code, message }: Fields,
  ): Promise<void> {
    const told = { ...queued, status: 'failed', error: { code, message } }
    const list = [finishResponse(account, made?.id ?? '', 'failed', JSON.stringify(told))]
    await writeSurely(this.#database, list).catch(error =>
      this.#log.warn({ id: made?.id, error }, 'the store could not be told of a response'),
    )
  }
  /** What is no longer this process's own was cancelled or deleted, maybe elsewhere. */
  async #look(): Promise<void> {
    const mine = [...this.#running]
    if (mine.length === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const process = await this.#membership.name()
    const rows = await this.#database.read(RUNNING, [process]).catch(() => undefined)
    if (!rows) return
    const still = new Set(rows.map(({ account, id }) => nameOf(Number(account), String(id))))
    for (const [name, { stop }] of mine) if (!still.has(name)) stop.abort()
  }
}

const nameOf = (account: number, id: string): string => `${account} ${id}`

const echoOf = ({ previous, conversation }: Keeping): Fields => ({
  ...{ background: true, store: true, previous_response_id: previous ?? null },
  ...(conversation !== undefined && { conversation: { id: conversation } }),
})
const queuedOf = (
  id: string,
  { slots }: Exchange,
  { created }: Keeping,
  asked: Fields,
): Fields => ({
  ...{ id, object: 'response', created_at: Math.floor(created / 1_000), completed_at: null },
  ...{ status: 'queued', error: null, incomplete_details: null, output: [], usage: null },
  model: slots.get(MODEL)?.asked ?? '',
  ...{ instructions: asked.instructions ?? null, metadata: asked.metadata ?? {} },
  ...{ parallel_tool_calls: asked.parallel_tool_calls ?? true, tools: asked.tools ?? [] },
  ...{ temperature: asked.temperature ?? 1, top_p: asked.top_p ?? 1 },
  ...{ tool_choice: asked.tool_choice ?? 'auto', text: asked.text ?? {} },
})

/** What is no credential and frames no message. */
const PASSING = /^(?:x-tollgate-strict|openai-.*|traceparent)$/
const headersOf = ({ headers }: Exchange['request']): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && PASSING.test(name) ? [[name, value]] : [],
    ),
  ),
  'content-type': 'application/json',
})

/** What went wrong, as the client may read it. */
const errorOf = ({ code, message, expose }: Fault): Fields => ({
  code: expose ? code.toLowerCase() : 'server_error',
  message: expose ? message : 'The gateway failed to make this response.',
})
const saidIn = (bytes: Uint8Array): Fields => {
  let body: unknown
  try {
    body = JSON.parse(Buffer.from(bytes).toString())
  } catch {}
  const error = inner(isFields(body as Fields) ? (body as Fields) : {}, 'error')
  return {
    code: wordIn(error, 'code') ?? 'server_error',
    message: wordIn(error, 'message') ?? 'The upstream refused this response.',
  }
}
