/** POST /v1/responses: prepends the history that a request continues, for any target, and stores
 *  the response in the transaction of its charge. */
import type { Attempt, Exchange, Host, Json, Next, Stage, Statement } from '../../engine/plugin.ts'
import { type Owner, ownerOf } from '../credentials/members.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { setBodyMember } from '../formats/request-edits.ts'
import { StreamMemberFilter } from '../formats/stream/answer-member.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import { ACCOUNT, bareId, EXPANDED_REQUEST, MODEL, nameChain } from '../slots.ts'
import type { BackgroundCalls } from './background-calls.ts'
import type { QueuedAnswer } from './background-request.ts'
import { expandRequest } from './expand.ts'
import { fault } from './faults.ts'
import { PlainRecorder, STORE_MEMBER, streamRecorder } from './recorder.ts'
import {
  readStorageOptions,
  STORAGE,
  type StorageFacts,
  type StorageLimits,
  type StorageOptions,
  type StorageRequest,
  storeStatements,
  undoStored,
} from './storage-options.ts'
import { failUnstored, PLAIN_STATEMENTS, storeWithCharge } from './store-with-charge.ts'
import { unfinishedResponse } from './unfinished-response.ts'

export class CreateStage implements Stage {
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
    const options = readStorageOptions(body)
    const account = slots.get(ACCOUNT)
    const {
      resolvedBody,
      targetBody,
      isExpanded,
      start: first,
    } = await expandRequest(this.#host, account, body, options)
    const storage = account && options.store && storageFacts(ownerOf(account), options)
    // A conversation is known by the time of its first response, whose id is not known yet.
    const start = first ?? (storage ? storage.created : undefined)
    if (options.conversation === undefined && start !== undefined) nameChain(slots, String(start))
    if (options.background) {
      if (!storage) throw fault('BACKGROUND_NOBODY')
      const queued = queuedResponse(exchange, storage, {
        body,
        targetBody: targetBody ?? body,
        input: resolvedBody.input ?? [],
      })
      return this.#background.start(exchange, this.#host, queued)
    }
    if (storage) slots.set(STORAGE, { ...storage, input: JSON.stringify(resolvedBody.input ?? []) })
    if (targetBody)
      slots.set(EXPANDED_REQUEST, {
        body: targetBody,
        size: sizeOf(targetBody, isExpanded ? undefined : request),
        longer: isExpanded,
      })
    await next()
    if (storage) storeWithCharge(exchange)
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const { exchange } = attempt
    const { outlined } = exchange.request
    // The gateway stores and deletes responses: the upstream must not store them, even if bytes
    // pass through. Their member `store` is in an outline, too, which is less work.
    const body =
      isFields(outlined) && outlined.store !== false ? exchange.request.parsed : undefined
    if (isFields(body)) setBodyMember(attempt.request, body, ['store', false])
    await next()
    const { reply } = attempt
    const storage = exchange.slots.get(STORAGE)
    if (!storage || reply.status >= 300) return
    // The upstream was asked not to store the response, and says so.
    delete reply.headers['content-length']
    if (isEventStream(reply)) return this.#recordStream(attempt, storage)
    const onResponse = (response: Fields): boolean => {
      if (response.object !== 'response') return false
      const statements = this.#statements(exchange, storage, response)
      exchange.slots.set(PLAIN_STATEMENTS, statements)
      return statements.length > 0
    }
    reply.through(new PlainRecorder(this.#limits.largest, onResponse))
    if (storage.background) failUnstored(attempt)
  }
  #recordStream({ exchange, reply }: Attempt, storage: StorageRequest): void {
    let statements: readonly Statement[] = []
    const storeMember = new StreamMemberFilter(STORE_MEMBER, true)
    const onResponse = (response: Fields): void => {
      statements = this.#statements(exchange, storage, response)
      if (statements.length === 0) storeMember.setValue(false)
    }
    reply.through(streamRecorder(onResponse, () => exchange.writes.add(...statements)))
    reply.through(storeMember)
  }
  explain(): Json {
    return { lifetime: this.#limits.lifetime, largest: this.#limits.largest }
  }
  /** The statements that store a response; none if it is too large. */
  #statements(exchange: Exchange, storage: StorageRequest, response: Fields): readonly Statement[] {
    const { id } = exchange
    const statements = storeStatements(storage, response, this.#limits)
    if (statements.length === 0)
      this.#host.log.warn(
        { id, response: response.id },
        'response is above the size limit and is not stored',
      )
    // The row of a background response stays: it tells of the failure.
    else if (!storage.background) undoStored(exchange, storage, String(response.id))
    return statements
  }
}

const queuedResponse = (
  exchange: Exchange,
  storage: StorageFacts,
  { body, targetBody, input }: Record<'body' | 'targetBody', Fields> & { readonly input: Json },
): QueuedAnswer => {
  const id = `resp_${bareId(exchange)}`
  const echo = echoOf(storage)
  const facts = { id, created: storage.created, model: exchange.slots.get(MODEL)?.asked ?? '' }
  return {
    id,
    storage,
    answer: { ...unfinishedResponse(facts, body), ...echo },
    body: targetBody,
    input,
    slot: STORAGE.name,
    slotValue: { ...storage, background: { id, echo } },
    failure: 'error',
  }
}
const echoOf = ({ previous, conversation }: StorageFacts): Fields => ({
  background: true,
  store: true,
  previous_response_id: previous ?? null,
  ...(conversation !== undefined && { conversation: { id: conversation } }),
})

const storageFacts = (owner: Owner, { previous, conversation }: StorageOptions): StorageFacts => ({
  ...owner,
  created: Date.now(),
  ...(previous !== undefined && { previous }),
  ...(conversation !== undefined && { conversation }),
})
/** Bytes of the body: its content-length if it is unchanged, which saves encoding it. */
const sizeOf = (body: Fields, request: Exchange['request'] | undefined): number =>
  Number(request?.headers['content-length'] ?? 0) || Buffer.byteLength(JSON.stringify(body))
