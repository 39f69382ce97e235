/** POST /v1/responses: what a request continues is put in front of it, whoever its target is, and what it is answered is
 *  kept with the charge for it. */
import type { Attempt, Exchange, Host, Json, Next, Stage } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { continued } from '../formats/openai-responses/history.ts'
import { isEventStream } from '../formats/sse.ts'
import { ACCOUNT, WHOLE } from '../slots.ts'
import { fault } from './faults.ts'
import { AnswerKeeper, StreamKeeper } from './keeper.ts'
import { type Asked, askedOf, KEEPING, type Keeping, kept, type Limits } from './keeping.ts'
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
    const whole = await this.#whole(body, asked, account)
    const keeping = account !== undefined && asked.store && keepingOf(account, body, asked)
    if (asked.background) {
      if (!keeping) throw fault('BACKGROUND_NOBODY')
      return this.#runs.start(exchange, this.#host, keeping, body, whole ?? body)
    }
    if (keeping) slots.set(KEEPING, keeping)
    if (whole) slots.set(WHOLE, wholeOf(whole, asked, request.headers['content-length']))
    return next()
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    await next()
    const { exchange, reply } = attempt
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
  /** What its target is asked: without what is for the gateway alone. Undefined where that is what the client sent. */
  async #whole(
    body: Fields,
    asked: Asked,
    account: number | undefined,
  ): Promise<Fields | undefined> {
    const { store, background: _, ...rest } = body
    if (asked.previous === undefined && asked.conversation === undefined)
      return store === true || asked.background ? rest : undefined
    return continued(rest, await contextOf(this.#host.database, account, asked))
  }
}

const keepingOf = (account: number, body: Fields, { previous, conversation }: Asked): Keeping => ({
  ...{ account, created: Date.now(), input: JSON.stringify(body.input ?? []) },
  ...(previous !== undefined && { previous }),
  ...(conversation !== undefined && { conversation }),
})
/** Only what continues something is longer than what came. */
const wholeOf = (body: Fields, { previous, conversation }: Asked, size: string | undefined) => {
  const longer = previous !== undefined || conversation !== undefined
  const known = longer ? 0 : Number(size ?? 0)
  return { body, size: known || Buffer.byteLength(JSON.stringify(body)), longer }
}
