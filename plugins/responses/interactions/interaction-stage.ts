/** Interactions: one that continues another is sent with the whole conversation, whatever target
 *  answers, and it is stored in the transaction of its charge. */
import type { Attempt, Exchange, Host, Json, Next, Slot, Stage } from '../../../engine/plugin.ts'
import { isFields, lenientText } from '../../formats/fields.ts'
import type { AnswerMember } from '../../formats/format.ts'
import { setBodyMember } from '../../formats/request-edits.ts'
import { PlainMemberFilter, StreamMemberFilter } from '../../formats/stream/answer-member.ts'
import { isEventStream } from '../../formats/stream/sse.ts'
import { ACCOUNT, EXPANDED_REQUEST, KEEP_TOGETHER } from '../../slots.ts'
import { Undo } from '../../undo/undo.ts'
import { recordAnswer } from '../record-answer.ts'
import type { StorageLimits } from '../storage-options.ts'
import { storeWithCharge } from '../store-with-charge.ts'
import { InteractionAssembler } from './interaction-assembler.ts'
import {
  type InteractionStorage,
  interactionStatement,
  readConversation,
  stepsOf,
  withdrawInteraction,
} from './interaction-store.ts'

const STORAGE: Slot<InteractionStorage> = { name: 'interaction' }
/** Answers and events name the interaction as the gateway stores it. */
const ID: AnswerMember = { key: 'id', parents: ['interaction'] }
const idOf = ({ id }: Exchange): string => `int_${id.replace(/^req_/, '')}`

export class InteractionStage implements Stage {
  readonly #host: Host
  readonly #limits: StorageLimits
  constructor(host: Host, limits: StorageLimits) {
    this.#host = host
    this.#limits = limits
  }
  async handle(exchange: Exchange, next: Next): Promise<void> {
    const { request, slots } = exchange
    const body = request.parsed ?? (await request.json())
    if (!isFields(body)) return next()
    const account = slots.get(ACCOUNT)?.id
    const { previous_interaction_id: _, store, ...rest } = body
    const previous = lenientText(body, 'previous_interaction_id')
    const created = Date.now()
    const own = stepsOf(body.input)
    const before =
      previous === undefined
        ? undefined
        : await readConversation(this.#host.database, account, previous)
    if (before) {
      const whole = { ...rest, input: [...before.steps, ...own] }
      const size = Buffer.byteLength(JSON.stringify(whole))
      slots.set(EXPANDED_REQUEST, { body: whole, size, longer: true })
    } else if (store === true)
      // The gateway stores it: no target is asked to.
      slots.set(EXPANDED_REQUEST, {
        body: rest,
        size: Number(request.headers['content-length'] ?? 0),
        longer: false,
      })
    if (account === undefined || store === false) return next()
    slots.get(KEEP_TOGETHER)?.(String(before?.start ?? created))
    slots.set(STORAGE, {
      account,
      id: idOf(exchange),
      created,
      input: JSON.stringify(own),
      ...(previous !== undefined && { previous }),
    })
    await next()
    storeWithCharge(exchange)
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const { exchange, request } = attempt
    const { parsed: body } = exchange.request
    if (isFields(body) && body.store !== false) setBodyMember(request, body, ['store', false])
    await next()
    const { reply } = attempt
    if (reply.status >= 300) return
    delete reply.headers['content-length'] // the id has another length
    const storage = exchange.slots.get(STORAGE)
    if (storage)
      recordAnswer(attempt, {
        largest: this.#limits.largest,
        newAssembler: () => new InteractionAssembler(),
        statementsOf: interaction => {
          const statement = interactionStatement(storage, interaction, this.#limits)
          if (!statement) return []
          Undo.of(exchange).add({ undo: [withdrawInteraction(storage)] })
          return [statement]
        },
      })
    const Filter = isEventStream(reply) ? StreamMemberFilter : PlainMemberFilter
    reply.through(new Filter(ID, idOf(exchange)))
  }
  explain(): Json {
    return { lifetime: this.#limits.lifetime, largest: this.#limits.largest }
  }
}
