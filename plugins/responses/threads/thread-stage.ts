/** Threads on POST /v1/messages: a request that continues a thread is sent with its whole
 *  conversation, whatever target answers, and its message is stored in the transaction of its
 *  charge. */
import type { Attempt, Exchange, Host, Json, Next, Slot, Stage } from '../../../engine/plugin.ts'
import { ownerOf } from '../../credentials/members.ts'
import { type Fields, isFields } from '../../formats/fields.ts'
import { ACCOUNT, EXPANDED_REQUEST, nameChain } from '../../slots.ts'
import { Undo } from '../../undo/undo.ts'
import { fault } from '../faults.ts'
import { recordAnswer } from '../record-answer.ts'
import type { StorageLimits } from '../storage-options.ts'
import { storeWithCharge } from '../store-with-charge.ts'
import { MessageAssembler } from './message-assembler.ts'
import {
  readThread,
  type Thread,
  type ThreadStorage,
  type ThreadTurn,
  threadStatements,
  withdrawMessage,
} from './thread-store.ts'

/** Members that a thread keeps from the request that began it. */
const KEPT_MEMBERS = ['system', 'tools'] as const
/** The client's beta of threads: upstreams that know no threads may refuse it. */
const BETA = /^message-threads-/

const STORAGE: Slot<ThreadStorage> = { name: 'thread' }

export class ThreadStage implements Stage {
  readonly #host: Host
  readonly #limits: StorageLimits
  constructor(host: Host, limits: StorageLimits) {
    this.#host = host
    this.#limits = limits
  }
  async handle(exchange: Exchange, next: Next): Promise<void> {
    const { request, slots, targets } = exchange
    const body = request.parsed ?? (await request.json())
    const account = slots.get(ACCOUNT)
    const isOwn = isFields(body) && isFields(body.thread)
    // Without an account nothing is stored, and other targets than Anthropic refuse the thread.
    if (!isOwn || !account || targets.every(({ traits }) => traits?.threads === true)) return next()
    const { thread: options, ...rest } = body
    const previous = previousOf(options)
    const before =
      previous === undefined ? undefined : await readThread(this.#host.database, account, previous)
    const created = Date.now()
    const wholeBody = before ? continued(rest, before) : rest
    nameChain(slots, String(before?.start ?? created))
    slots.set(STORAGE, {
      ...ownerOf(account),
      created,
      turn: turnOf(rest),
      thread: turnOf(wholeBody),
      ...(previous !== undefined && { previous }),
    })
    const size = Buffer.byteLength(JSON.stringify(wholeBody))
    slots.set(EXPANDED_REQUEST, { body: wholeBody, size, longer: true })
    await next()
    storeWithCharge(exchange)
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const { exchange, request } = attempt
    const storage = exchange.slots.get(STORAGE)
    if (!storage) return next()
    dropBeta(request.headers)
    await next()
    const { reply } = attempt
    if (reply.status >= 300) return
    recordAnswer(attempt, {
      largest: this.#limits.largest,
      newAssembler: () => new MessageAssembler(),
      statementsOf: message => {
        const statements = threadStatements(storage, message, this.#limits)
        if (statements.length > 0)
          Undo.of(exchange).add({ undo: [withdrawMessage(storage.account, String(message.id))] })
        return statements
      },
    })
  }
  explain(): Json {
    return { lifetime: this.#limits.lifetime, largest: this.#limits.largest }
  }
}

/** The id of the message before; undefined: the request begins a thread. */
const previousOf = (options: Json | undefined): string | undefined => {
  const { type, previous_message_id: previous } = isFields(options) ? options : {}
  if (type === 'create') return undefined
  if (type !== 'continue') throw fault('THREAD_TYPE')
  if (typeof previous !== 'string') throw fault('THREAD_PREVIOUS')
  return previous
}
/** The request as if the client had sent the whole conversation. */
const continued = (body: Fields, { turn }: Thread): Fields => {
  for (const member of KEPT_MEMBERS)
    if (body[member] !== undefined && !isSame(body[member], turn[member]))
      throw fault('THREAD_CHANGED', [member], { param: member })
  return { ...body, ...turn, messages: [...turn.messages, ...messagesOf(body)] }
}
const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
const turnOf = (body: Fields): ThreadTurn => ({
  ...Object.fromEntries(
    KEPT_MEMBERS.flatMap(member => {
      const value = body[member]
      return value === undefined ? [] : [[member, value]]
    }),
  ),
  messages: messagesOf(body),
})
const messagesOf = ({ messages }: Fields): readonly Fields[] =>
  Array.isArray(messages) ? messages.filter(isFields) : []

const dropBeta = (headers: Attempt['request']['headers']): void => {
  const names = String(headers['anthropic-beta'] ?? '').split(',')
  const others = names.filter(name => !BETA.test(name.trim()))
  if (others.length === names.length) return
  if (others.length > 0) headers['anthropic-beta'] = others.join(',')
  else delete headers['anthropic-beta']
}
