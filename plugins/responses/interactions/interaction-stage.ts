/** Interactions: one that continues another is sent with the whole conversation, whatever target
 *  answers, and it is stored in the transaction of its charge. */
import type { Attempt, Exchange, Host, Json, Next, Stage } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText } from '../../formats/fields.ts'
import { setBodyMember } from '../../formats/request-edits.ts'
import { PlainMemberFilter, StreamMemberFilter } from '../../formats/stream/answer-member.ts'
import { isEventStream } from '../../formats/stream/sse.ts'
import { ACCOUNT, bareId, EXPANDED_REQUEST, nameChain } from '../../slots.ts'
import { Undo } from '../../undo/undo.ts'
import type { BackgroundCalls } from '../background-calls.ts'
import { recordAnswer } from '../record-answer.ts'
import { readBackground, type StorageLimits } from '../storage-options.ts'
import { failUnstored, storeWithCharge } from '../store-with-charge.ts'
import { agentRequest, cancelWithCall, checkAgent, namesAgent } from './agent-call.ts'
import { InteractionAssembler } from './interaction-assembler.ts'
import {
  interactionStatements,
  readConversation,
  stepsOf,
  storageFor,
  withdrawInteraction,
} from './interaction-store.ts'
import { queuedInteraction, STORAGE } from './queued-interaction.ts'

/** The request of a model, without members for the gateway only. */
const modelRequest = (body: Fields): Fields => {
  const { previous_interaction_id: _, store: __, background: ___, ...rest } = body
  return rest
}
/** Answers and events name the interaction as the gateway stores it. */
const ID = { key: 'id', parents: ['interaction'] } as const
const idOf = (exchange: Exchange): string => `int_${bareId(exchange)}`

export class InteractionStage implements Stage {
  readonly #host: Host
  readonly #limits: StorageLimits
  readonly #background: BackgroundCalls
  constructor(host: Host, limits: StorageLimits, background: BackgroundCalls) {
    this.#host = host
    this.#limits = limits
    this.#background = background
  }
  async handle(exchange: Exchange, next: Next): Promise<void> {
    const { request, slots } = exchange
    const body = await request.json()
    if (!isFields(body)) return next()
    const isAgent = namesAgent(body)
    if (isAgent) checkAgent(body, exchange, this.#host)
    const inBackground = !(isAgent && body.stream === true) && readBackground(body)
    const account = slots.get(ACCOUNT)
    const { store } = body
    const rest = isAgent ? agentRequest(body, inBackground) : modelRequest(body)
    const previous = lenientText(body, 'previous_interaction_id')
    const created = Date.now()
    const own = stepsOf(body.input)
    const before =
      previous === undefined
        ? undefined
        : await readConversation(this.#host.database, account, previous)
    const whole = before ? { ...rest, input: [...before.steps, ...own] } : rest
    const storage =
      account !== undefined &&
      store !== false &&
      storageFor(account, {
        id: idOf(exchange),
        created,
        ...(previous !== undefined && { previous }),
      })
    if (storage) nameChain(slots, String(before?.start ?? created))
    if (inBackground) {
      const queued = queuedInteraction(exchange, storage, { body: whole, steps: own })
      return this.#background.start(exchange, this.#host, queued)
    }
    if (before) {
      const size = Buffer.byteLength(JSON.stringify(whole))
      slots.set(EXPANDED_REQUEST, { body: whole, size, longer: true })
    } else if (store === true && !isAgent) {
      // The gateway stores it: no target is asked to.
      const size = Number(request.headers['content-length'] ?? 0)
      slots.set(EXPANDED_REQUEST, { body: rest, size, longer: false })
    }
    if (!storage) return next()
    slots.set(STORAGE, { ...storage, input: JSON.stringify(own) })
    await next()
    storeWithCharge(exchange)
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const { exchange, request } = attempt
    const { parsed: body } = exchange.request
    const isAgent = isFields(body) && namesAgent(body)
    if (isFields(body) && !isAgent && body.store !== false)
      setBodyMember(request, body, ['store', false])
    await next()
    const { reply } = attempt
    if (reply.status >= 300) return
    delete reply.headers['content-length'] // the id has another length
    if (isAgent) cancelWithCall(attempt, this.#host)
    const storage = exchange.slots.get(STORAGE)
    if (storage)
      recordAnswer(attempt, {
        largest: this.#limits.largest,
        newAssembler: () => new InteractionAssembler(),
        statementsOf: interaction => {
          const statements = interactionStatements(storage, interaction, this.#limits)
          // The row of one in the background stays: it tells of the failure.
          if (statements.length > 0 && !storage.background)
            Undo.of(exchange).add({ undo: [withdrawInteraction(storage)] })
          return statements
        },
      })
    const Filter = isEventStream(reply) ? StreamMemberFilter : PlainMemberFilter
    reply.through(new Filter(ID, storage?.id ?? idOf(exchange)))
    if (storage?.background) failUnstored(attempt)
  }
  explain(): Json {
    return { lifetime: this.#limits.lifetime, largest: this.#limits.largest }
  }
}
