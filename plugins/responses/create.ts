/** POST /v1/responses: what a request continues is put in front of it, whoever its target is, and what it is answered is
 *  kept with the charge for it. */
import type { Attempt, Exchange, Host, Json, Next, Stage } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { continued, type Kept } from '../formats/openai-responses/history.ts'
import { put } from '../formats/outgoing.ts'
import { isEventStream } from '../formats/sse.ts'
import { ACCOUNT, WHOLE } from '../slots.ts'
import { fault } from './faults.ts'
import { AnswerKeeper, StreamKeeper } from './keeper.ts'
import { type Asked, askedOf, KEEPING, type Keeping, kept, type Limits } from './keeping.ts'
import { dereferenced } from './references.ts'
import type { Runs } from './runs.ts'
import { contextOf } from './shelf.ts'

export class Create implements Stage {
  readonly #host: Host
  readonly #limits: Limits
  readonly #runs: Runs
  constructor(host: Host, limits: Limits, runs: Runs) {
    this.#host = host
    this.#limits = limits
    this.#runs = runs
  }
  async handle(exchange: Exchange, next: Next): Promise<void> {
    const { request, slots } = exchange
    const body = request.parsed ?? (await request.json())
    if (!isFields(body)) return next()
    const asked = askedOf(body)
    const account = slots.get(ACCOUNT)?.id
    const { database } = this.#host
    const context = isContinued(asked) ? await contextOf(database, account, asked) : undefined
    const meant = await dereferenced(database, account, body.input, context ?? [])
    const now = meant ? { ...body, input: meant } : body
    const longer = context !== undefined || meant !== undefined
    const whole = wholeOf(now, asked, context, longer)
    const keeping = account !== undefined && asked.store && keepingOf(account, now, asked)
    if (asked.background) {
      if (!keeping) throw fault('BACKGROUND_NOBODY')
      return this.#runs.start(exchange, this.#host, keeping, body, whole ?? body)
    }
    if (keeping) slots.set(KEEPING, keeping)
    if (whole)
      slots.set(WHOLE, { body: whole, size: sizeOf(whole, longer ? undefined : request), longer })
    return next()
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const { exchange } = attempt
    const { parsed } = exchange.request
    // Where its bytes pass as they came, too: what is kept is kept here, and deleted here.
    if (isFields(parsed) && parsed.store !== false) put(attempt.request, parsed, ['store', false])
    await next()
    const { reply } = attempt
    const keeping = exchange.slots.get(KEEPING)
    if (!keeping || reply.status >= 300 || reply.headers['content-encoding'] !== undefined) return
    const told = (response: Fields): void => this.#keep(exchange, keeping, response)
    reply.through(
      isEventStream(reply) ? new StreamKeeper(told) : new AnswerKeeper(this.#limits.largest, told),
    )
  }
  explain(): Json {
    return { kept: this.#limits.kept, largest: this.#limits.largest }
  }
  #keep({ id, writes }: Exchange, keeping: Keeping, response: Fields): void {
    const statements = kept(keeping, response, this.#limits)
    if (statements.length === 0)
      this.#host.log.warn({ id, response: response.id }, 'a response is too large to be kept')
    writes.add(...statements)
  }
}

const isContinued = ({ previous, conversation }: Asked): boolean =>
  previous !== undefined || conversation !== undefined
/** What its target is asked: without what is for the gateway alone. Undefined where that is what the client sent. */
const wholeOf = (
  body: Fields,
  asked: Asked,
  context: readonly Kept[] | undefined,
  longer: boolean,
): Fields | undefined => {
  const { store, background: _, ...rest } = body
  if (context) return continued(rest, context)
  return longer || store === true || asked.background ? rest : undefined
}
const keepingOf = (account: number, body: Fields, { previous, conversation }: Asked): Keeping => ({
  ...{ account, created: Date.now(), input: JSON.stringify(body.input ?? []) },
  ...(previous !== undefined && { previous }),
  ...(conversation !== undefined && { conversation }),
})
/** Bytes. As it came it need not be written to be measured. */
const sizeOf = (body: Fields, request: Exchange['request'] | undefined): number =>
  Number(request?.headers['content-length'] ?? 0) || Buffer.byteLength(JSON.stringify(body))
