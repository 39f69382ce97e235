/** Plugin `idempotency`: a request that repeats an Idempotency-Key gets the stored response, so
 *  that the gateway runs and bills the call once. */
import { anyOf, object, oneOf, type RawOf, required, size } from '../../engine/config/shape.ts'
import type {
  Exchange,
  Fault,
  Next,
  Outcome,
  Plugin,
  RouteDescription,
  Statement,
} from '../../engine/plugin.ts'
import type { BodyRecorder } from '../conversion/body-recorder.ts'
import { type Caller, onlyMember } from '../credentials/members.ts'
import { ACCOUNT, EARLY_REPLY, KEY_USE, type KeyUse, STREAM_ERRORED } from '../slots.ts'
import { isUndelivered, Undo } from '../undo/undo.ts'
import { Claims } from './claims.ts'
import { fault } from './faults.ts'
import { digestOf } from './request-digest.ts'
import { earlyResponse, laterResponse, responseRecorder } from './response-recorder.ts'
import { forgetKey, freeKey, type KeyName, useUp } from './statements.ts'
import { migrations } from './tables.ts'

const HEADER = 'idempotency-key'
const KEY = /^[!-~]{1,255}$/
const DEFAULT_SIZE = '1MiB'
/** ms between two deletions of expired responses. */
const CLEANING_INTERVAL = 600_000

const LARGEST = size(
  'The largest stored response. After a larger one, a repeated request is refused with 410.',
  { pattern: '^([1-9][0-9]{0,3})(KiB|MiB)$', examples: ['4MiB'] },
)
const OPTIONS = anyOf(
  'Idempotency-Key: for 24 hours a repeated request with the same key gets the response of the first.',
  [
    oneOf(`Responses up to ${DEFAULT_SIZE} are stored.`, [true]),
    object(
      'Responses up to another size are stored.',
      { largest: required(LARGEST) },
      { examples: [{ largest: '4MiB' }] },
    ),
  ],
  { examples: [true, { largest: '4MiB' }] },
)

export default {
  schema: OPTIONS.schema,
  // None of these may see a replay; `auth` sets the account that owns the key.
  before: ['responses', 'meter', 'account', 'console'],
  after: ['auth'],
  migrations,
  setup(options, host) {
    const largest = LARGEST.read(options === true ? DEFAULT_SIZE : options.largest)
    const claims = host.share(
      'idempotency/claims',
      '1',
      () => new Claims(host.database, host.log, host.membership),
    )
    host.job('idempotency', CLEANING_INTERVAL, signal => claims.clean(signal))
    return {
      describe: () => DESCRIPTION,
      handle(exchange, next) {
        const key = exchange.request.headers[HEADER]
        if (key === undefined || isRead(exchange)) return next()
        if (!KEY.test(key)) throw fault('IDEMPOTENCY_KEY_INVALID')
        const account = exchange.slots.get(ACCOUNT)
        // Without an account nothing is charged, and keys of anonymous clients could collide.
        return account
          ? runOnce(claims, nameFor(account, exchange, key), largest, exchange, next)
          : next()
      },
      explain: ({ request }) => ({ key: request.headers[HEADER] ?? null, largest }),
    }
  },
} satisfies Plugin<RawOf<typeof OPTIONS>>

/** GET and HEAD of a route that takes other methods too change nothing, and need no key. */
const isRead = ({ request: { method }, route }: Exchange): boolean =>
  (method === 'GET' || method === 'HEAD') && route.method !== method

const DESCRIPTION: RouteDescription = {
  parameters: [
    {
      name: HEADER,
      in: 'header',
      description:
        'For 24 hours a repeated request with the same key gets the response of the first one, and is not charged again',
      schema: { type: 'string', pattern: KEY.source },
    },
  ],
  headers: { 'idempotent-replayed': 'true: the response of an earlier request with the same key' },
  refusals: { 409: 'The first request with this Idempotency-Key has not ended' },
}

/** A `member` has its own keys, since an answer may show what it does not see. A client's key
 *  has no space. */
const nameFor = ({ id, member }: Caller, { route }: Exchange, key: string): KeyName => {
  const only = onlyMember(member)
  return { account: id, route: route.name, key: only === undefined ? key : `${only} ${key}` }
}

const runOnce = async (
  claims: Claims,
  name: KeyName,
  largest: number,
  exchange: Exchange,
  next: Next,
): Promise<void> => {
  const { id, slots, writes } = exchange
  const body = await digestOf(exchange.request)
  const call: Call = { isClaimed: false, hasReply: false, isEarly: false, hasEffect: false }
  Undo.of(exchange)
  exchange.onEnd(outcome => {
    call.outcome = outcome
    if (call.isClaimed) endClaim(claims, exchange, call, outcome)
  })
  const claimant = {
    id,
    cut: (reason: Fault) => exchange.cut(reason),
    // A client that has a part of the response gets the rest, unless another request may run.
    goesOn: (isLost: boolean) =>
      (call.isEarly && writes.isConfirmed) || (!isLost && call.recorder?.hasBegun === true),
  }
  // Not in `exchange.writes`: a claimed key must not fail the exchange's transaction.
  const storedResponse = await claims.claim(name, body, claimant, largest)
  if (storedResponse) {
    exchange.answer(storedResponse.status, storedResponse.body, {
      ...storedResponse.headers,
      'idempotent-replayed': 'true',
    })
    return
  }
  call.isClaimed = true
  if (call.outcome) {
    claims.release(id, freeKey(id))
    throw fault('IDEMPOTENCY_LOST')
  }
  slots.set(EARLY_REPLY, reply => {
    call.isEarly = true
    call.hasReply = true
    writes.add(earlyResponse(id, reply))
  })
  const keyUse: KeyUse = {
    mayShowSecret: false,
    useUp() {
      call.hasEffect = true
      return useUp(id, keyUse.mayShowSecret)
    },
  }
  slots.set(KEY_USE, keyUse)
  try {
    await next()
  } catch (error) {
    if (!call.isEarly) writes.add(freeKey(id))
    throw error
  }
  await storeReply(claims, exchange, call, largest)
}

/** The response is stored at its end, in one transaction with what the stages have written; one
 *  that has an early reply, before it begins. */
const storeReply = async (
  claims: Claims,
  { id, reply, attempts, slots, writes }: Exchange,
  call: Call,
  largest: number,
): Promise<void> => {
  const mayShowSecret = slots.get(KEY_USE)?.mayShowSecret === true
  if (call.hasEffect && mayShowSecret) return
  // The response of a stage, not of an upstream: reading it early costs no streaming.
  const ownBody = attempts === 0 && reply.body instanceof Uint8Array ? reply.body : undefined
  if (call.isEarly || call.hasEffect) {
    const bytes = await reply.bytes(ownBody?.length ?? largest)
    const later = laterResponse({ request: id, reply, largest }, bytes)
    if (later && !(await claims.replace(later))) call.later = later
    return
  }
  const add = (statement: Statement): void => {
    call.hasReply = statement.rows !== undefined
    writes.add(statement)
  }
  const hasFailed = () => slots.get(STREAM_ERRORED) === true
  call.recorder = responseRecorder({ request: id, reply, largest, mayShowSecret, hasFailed, add })
  reply.through(call.recorder)
  if (ownBody) await reply.bytes(ownBody.length)
}

interface Call {
  isClaimed: boolean
  /** Set if the client leaves while the key is claimed. */
  outcome?: Outcome
  /** Whether the response is written, or was. */
  hasReply: boolean
  /** Whether a repetition of the request gets a response before this one has ended. */
  isEarly: boolean
  /** Whether the transaction of its effect uses up the key. */
  hasEffect: boolean
  /** The replacement of that response, if the store was away. */
  later?: Statement
  recorder?: BodyRecorder
}
/** A refused client runs the request again: its key is freed in the transaction that undoes the
 *  call. Where a repetition of the request has got the response by then, call and response stay. */
const endClaim = (
  claims: Claims,
  exchange: Exchange,
  { hasReply, hasEffect, later }: Call,
  outcome: Outcome,
): void => {
  const { id, writes } = exchange
  const release = (): void => claims.release(id)
  // Frees the key only if the effect did not happen.
  if (hasEffect) claims.release(id, later ?? freeKey(id))
  else if (isUndelivered(outcome) && (hasReply || !writes.isConfirmed))
    Undo.of(exchange).addGuard({ undo: forgetKey(id), onUndo: release, onKept: release })
  else claims.release(id, later ?? (outcome.end === 'complete' ? undefined : freeKey(id)))
}
