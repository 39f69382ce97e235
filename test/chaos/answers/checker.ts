/** Compares what clients, upstream and ledger know of calls with a cache, guards, copies and rules
 *  after a chaos run. Pure, and trusts none of them. */
import type { Violation } from '../checker.ts'
import type { AnswerCall } from './client.ts'
import {
  BLOCKED_WORDS,
  COPIES_IN_BUDGET,
  COPY_COSTS,
  COSTS,
  FORBIDDEN,
  type ModelName,
  UPSTREAM_NAMES,
} from './configuration.ts'
import type { AnsweredCall } from './upstream.ts'

export interface AnswerCharge {
  readonly request: string
  readonly account: number
  readonly model: string
  readonly state: string
  readonly amount: bigint
  readonly refunded: bigint
  /** The call whose answer was served from the cache. */
  readonly cache: string | undefined
  readonly rule: string | undefined
}
export interface CachedAnswer {
  readonly account: number
  readonly request: string
  readonly text: string
}
/** Sums of copies in the store. Money in nanos. */
export interface CopySums {
  readonly calls: number
  readonly failed: number
  readonly cost: bigint
  /** Of the budget. */
  readonly used: bigint
}
export interface AnswerLogs {
  readonly clients: readonly AnswerCall[]
  readonly upstream: readonly AnsweredCall[]
  readonly charges: readonly AnswerCharge[]
  readonly cached: readonly CachedAnswer[]
  readonly copies: CopySums
}
/** Records by their ids. */
interface Index {
  readonly charges: ReadonlyMap<string, AnswerCharge>
  /** Calls of customers, not copies. */
  readonly calls: ReadonlyMap<string, AnsweredCall>
}
type Breach = readonly [invariant: string, detail: string]

export const checkAnswers = (logs: AnswerLogs): readonly Violation[] => {
  const own = logs.upstream.filter(({ model }) => model !== UPSTREAM_NAMES.copy)
  const index: Index = {
    charges: new Map(logs.charges.map(charge => [charge.request, charge])),
    calls: new Map(own.map(call => [call.request, call])),
  }
  const named = (subject: string, breaches: readonly Breach[]): Violation[] =>
    breaches.map(([invariant, detail]) => ({ invariant, subject, detail }))
  return [
    ...logs.clients.flatMap(call => named(call.id || call.question, ofCall(call, index))),
    ...logs.charges.flatMap(charge => named(charge.request, ofCharge(charge, index))),
    ...logs.cached.flatMap(entry => named(entry.request, ofEntry(entry, index))),
    ...logs.upstream.flatMap(call => named(call.request, ofUpstream(call))),
    ...named('repeated', ofRepeated(own)),
    ...named('copies', ofCopies(logs)),
    ...named('rules', ofRules(logs.clients)),
  ]
}

/** Statuses of an unavailable store and of a stream that the upstream breaks off. */
const REFUSALS: ReadonlySet<number> = new Set([502, 503])
const ofCall = (call: AnswerCall, index: Index): readonly Breach[] => {
  const charge = index.charges.get(call.id)
  const breaches = ofOwner(call, charge)
  if (call.blocked && call.body.includes(REFUSED)) return [...breaches, ...ofBlocked(call, charge)]
  if (!call.isComplete) return [...breaches, ...ofCut(call, charge, index)]
  if (call.status === 200) return [...breaches, ...ofWhole(call, charge, index)]
  if (!REFUSALS.has(call.status))
    return [...breaches, ['refused', `with ${call.status}: ${call.body.slice(0, 200)}`]]
  if (keptOf(charge) !== 0n) breaches.push(['refused', `${keptOf(charge)} stays charged`])
  return breaches
}
/** In place of the answer that a guard has blocked. */
const REFUSED = 'does not allow'
const ofOwner = ({ account, body }: AnswerCall, charge: AnswerCharge | undefined): Breach[] => [
  ...(charge && charge.account !== account
    ? [['leak', 'another account is charged'] satisfies Breach]
    : []),
  ...Object.values(BLOCKED_WORDS)
    .filter(word => body.includes(word))
    .map((word): Breach => ['guards', `the client got ${word}`]),
]
const keptOf = (charge: AnswerCharge | undefined): bigint =>
  charge?.state === 'settled' ? charge.amount - charge.refunded : 0n

/** A whole answer: the upstream wrote all of it, for this account, and it has one charge. */
const ofWhole = (
  call: AnswerCall,
  charge: AnswerCharge | undefined,
  { calls, charges }: Index,
): readonly Breach[] => {
  const isHit = call.cache.startsWith('hit')
  const source = isHit ? (charge?.cache ?? '') : call.id
  const upstreamCall = calls.get(source)
  const breaches: Breach[] = call.blocked ? [['guards', 'what must be blocked came through']] : []
  if (charge?.state !== 'settled' || charge.refunded !== 0n)
    breaches.push(['I1', `a whole answer, and its charge is ${charge?.state}`])
  const due = isHit ? COSTS.cached : COSTS.answer
  if (charge && charge.amount !== due) breaches.push(['I1', `charged ${charge.amount} of ${due}`])
  if (isHit !== (charge?.cache !== undefined))
    breaches.push(['I1', `the header says ${call.cache}, and the charge ${charge?.cache}`])
  if (call.rule !== (charge?.rule ?? ''))
    breaches.push(['rules', `the header says ${call.rule}, and the charge ${charge?.rule}`])
  if (isHit && calls.has(call.id))
    breaches.push(['I2', 'from the cache, and the upstream was asked'])
  if (!upstreamCall?.isFinished)
    breaches.push(['cache', `the upstream did not finish ${source || 'its answer'}`])
  if (isHit && (charges.get(source)?.account ?? call.account) !== call.account)
    breaches.push(['leak', `its answer is that of ${source}, a call of another account`])
  const expected = upstreamCall?.answer.replace(/\[EMAIL_\d+\]/, call.email)
  if (expected !== undefined && call.answer !== expected)
    breaches.push(['leak', `got ${JSON.stringify(call.answer)}, not ${JSON.stringify(expected)}`])
  return breaches
}
/** A refused answer costs what its guard says; a stream of which nothing came, at most that. */
const ofBlocked = (
  { blocked = 'request', isComplete, stream }: AnswerCall,
  charge: AnswerCharge | undefined,
): readonly Breach[] => {
  const due = { charge: COSTS.answer, input: COSTS.input, free: 0n, request: 0n }[blocked]
  const chargedAmount = keptOf(charge)
  const isDue = stream || !isComplete ? chargedAmount <= due : chargedAmount === due
  return isDue ? [] : [['guards', `${blocked}: charged ${chargedAmount} of ${due}`]]
}
const ofCut = (
  call: AnswerCall,
  charge: AnswerCharge | undefined,
  { calls }: Index,
): readonly Breach[] => {
  const chargedAmount = keptOf(charge)
  const upstreamCall = calls.get(call.id)
  if (call.ms >= LONGEST_WAIT)
    return [['stuck', `without an answer after ${Math.round(call.ms)} ms`]]
  if (chargedAmount > 0n && call.id !== '' && !upstreamCall && charge?.cache === undefined)
    return [
      [
        'I2',
        `charged ${chargedAmount}, and no upstream was asked (${call.model}, cache: ${call.cache})`,
      ],
    ]
  return []
}
/** ms: a request waits at most half a minute for that of a process that stopped. */
const LONGEST_WAIT = 40_000

/** Also of calls whose client knows no id. */
const ofCharge = (charge: AnswerCharge, { calls, charges }: Index): readonly Breach[] => {
  const { state, amount, cache, request, account } = charge
  if (state === 'open') return [['I6', 'is still held']]
  if (state !== 'settled' || amount === 0n) return []
  if (cache === undefined)
    return calls.has(request)
      ? []
      : [['I2', `phantom: ${amount} without an upstream call (${charge.model})`]]
  const breaches: Breach[] = []
  if (amount !== COSTS.cached) breaches.push(['I1', `from the cache for ${amount}`])
  if (!calls.get(cache)?.isFinished) breaches.push(['cache', `${cache} was not whole`])
  if ((charges.get(cache)?.account ?? account) !== account)
    breaches.push(['leak', `${cache} is a call of another account`])
  return breaches
}
const ofEntry = (
  { account, request, text }: CachedAnswer,
  { calls, charges }: Index,
): readonly Breach[] => {
  const call = calls.get(request)
  const breaches: Breach[] = []
  if (!call?.isFinished) breaches.push(['cache', 'an answer is stored that was not whole'])
  else if (!text.includes(call.answer))
    breaches.push(['cache', `another answer is stored: ${text}`])
  if ((charges.get(request)?.account ?? account) !== account)
    breaches.push(['leak', 'its answer is stored for another account'])
  return breaches
}
/** No upstream gets a text that guards keep from it. */
const ofUpstream = ({ question }: AnsweredCall): readonly Breach[] =>
  question.includes('@') || question.includes(FORBIDDEN)
    ? [['guards', `the upstream got ${question}`]]
    : []
const ofRepeated = (calls: readonly AnsweredCall[]): readonly Breach[] =>
  [...Map.groupBy(calls, ({ request }) => request)]
    .filter(([, all]) => all.length > 1)
    .map(([request, all]) => ['I7', `${request} reached the upstream ${all.length} times`])

/** Copies that wait, or are under way, in the workers of a gateway. */
const UNDER_WAY = 16n
/** The budget of copies has what those of the report cost and what was reserved for others, which
 *  are no more than the calls that were copied. No charge is that of a copy. */
const ofCopies = ({ upstream, charges, copies }: AnswerLogs): readonly Breach[] => {
  const { calls, failed, cost, used } = copies
  const copyCalls = upstream.filter(({ model }) => model === UPSTREAM_NAMES.copy)
  const first = upstream.filter(({ model }) => model === 'copied-up')
  const breaches: Breach[] = []
  const done = BigInt(calls - failed)
  if (cost !== done * COPY_COSTS.copy) breaches.push(['mirror', `${done} copies cost ${cost}`])
  if (calls > copyCalls.length)
    breaches.push(['mirror', `${calls} copies are reported, the upstream got ${copyCalls.length}`])
  const most = cost + (BigInt(first.length) - done) * COPY_COSTS.reserved
  if (used < cost || used > most)
    breaches.push(['mirror', `the budget has ${used}, not ${cost} to ${most}`])
  if (used > (COPIES_IN_BUDGET + UNDER_WAY) * COPY_COSTS.reserved)
    breaches.push(['mirror', `the budget has ${used} and is passed`])
  for (const { model, question, request } of copyCalls) {
    if (copyCalls.filter(each => each.question === question && each.request === request).length > 1)
      breaches.push(['mirror', `${model} got ${question} twice`])
    if (charges.some(charge => charge.request === request))
      breaches.push(['mirror', `${request}: a copy has a charge`])
  }
  return breaches
}
/** A conversation has the same rule whichever process decides. */
const ofRules = (clients: readonly AnswerCall[]): readonly Breach[] => {
  const ruled = clients.filter(({ model, status }) => model === RULED && status === 200)
  const groups = Map.groupBy(ruled, ({ account, conversation }) => `${account} ${conversation}`)
  return [...groups].flatMap(([name, all]): Breach[] =>
    new Set(all.map(({ rule }) => rule)).size > 1 ? [['rules', `${name} changed its rule`]] : [],
  )
}
const RULED: ModelName = 'ruled'
