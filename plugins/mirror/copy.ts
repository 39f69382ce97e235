/** A request that is to be sent a second time, with the facts of its first call. It keeps neither
 *  the exchange nor the credentials of the client. */
import type { Exchange, Outcome } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import type { Rule } from '../billing/rule.ts'
import type { MirrorRule } from '../catalogue/mirror.ts'
import type { NamedTarget } from '../conversion/send-prompt.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { ACCOUNT, type Account, CHARGE, type Meters, USAGE } from '../slots.ts'
import type { AnswerFacts, AnswerWatch } from './answer-facts.ts'

type MirrorPeriod = NonNullable<MirrorRule['budget']>['per']
/** `mirror:` of a model. */
export interface ModelMirror {
  /** Key in `models:`. */
  readonly model: string
  readonly rule: MirrorRule
  readonly target: NamedTarget
  /** Of the operator's own cost. */
  readonly price: Rule | undefined
  /** The most that copies may cost in a window; nanos. Undefined: there is no limit. */
  readonly budget: { readonly amount: bigint; readonly per: MirrorPeriod } | undefined
}
/** One of the two calls. */
export interface CallFacts {
  /** UPSTREAM/NAME. */
  readonly target: string
  readonly status: number
  /** The code of the fault, or null. */
  readonly error: string | null
  /** ms until the whole answer. */
  readonly ms: number
  readonly usage: Meters | null
  /** Units of the currency: the charge of the customer, and the cost of the operator. */
  readonly cost: string | null
  /** The shape of the answer; undefined: the call has no whole answer. */
  readonly answer?: AnswerFacts
}
export interface Copy {
  readonly own: ModelMirror
  readonly request: string
  readonly account: Account | undefined
  readonly prompt: Prompt
  /** Bytes. */
  readonly size: number
  readonly first: CallFacts
}

export const copyOf = ({
  own,
  prompt,
  exchange,
  outcome,
  watch,
}: {
  readonly own: ModelMirror
  readonly prompt: Prompt
  readonly exchange: Exchange
  readonly outcome: Outcome
  /** Of the answer of the first call. */
  readonly watch: AnswerWatch
}): Copy => ({
  own,
  request: exchange.id,
  account: exchange.slots.get(ACCOUNT),
  prompt: withoutPeople(prompt),
  size: sizeOf(prompt, exchange),
  first: factsOf(exchange, outcome, watch),
})

const factsOf = (
  { slots }: Exchange,
  { target, status, fault, ms, end }: Outcome,
  watch: AnswerWatch,
): CallFacts => {
  const charge = slots.get(CHARGE)
  return {
    target: `${target?.upstream ?? ''}/${target?.name ?? ''}`,
    status,
    error: fault?.code ?? null,
    ms: Math.round(ms.whole),
    usage: slots.get(USAGE)?.meters ?? null,
    cost: charge ? printMoney(charge.nanos) : null,
    ...(end === 'complete' && status < 300 && { answer: watch.facts }),
  }
}
/** Of an unpacked body. */
const sizeOf = ({ turns }: Prompt, { request: { headers } }: Exchange): number =>
  headers['content-encoding'] === undefined && headers['content-length'] !== undefined
    ? Number(headers['content-length'])
    : JSON.stringify(turns).length

/** The other target gets neither ids of end users nor the body as the client sent it, and stores
 *  nothing. */
const withoutPeople = ({ settings, ...prompt }: Prompt): Prompt => {
  const { user, metadata, cacheKey, store, background, ...others } = settings
  return { ...prompt, settings: others, body: {} }
}
