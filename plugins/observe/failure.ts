/** The record of a call that failed: its maker, its client's error and its attempts. */
import type { Exchange, Outcome } from '../../engine/plugin.ts'
import { boundText, messageIn } from '../calls/error-message.ts'
import type { FailedCall } from '../calls/statements.ts'
import { ACCOUNT, CHARGE, STREAM_ERROR_TEXT, STREAM_ERRORED, UNANSWERED } from '../slots.ts'
import type { Failure, Try } from '../views.ts'
import { isFailed, TRIES } from './tries.ts'

/** The most attempts of a row: the first of them, and the last. */
const MAX_TRIES = 12
/** Bytes of the names in a row. */
const MAX_NAME = 200

/** The message in the log line of a 404. Messages of other faults may quote content. */
export const loggedMessageOf = ({ fault }: Outcome): string | undefined =>
  fault?.status === 404 && fault.expose ? boundText(fault.message) : undefined

/** Undefined: the call did not fail. `fields`: those of its log line. */
export const failedCallOf = (
  exchange: Exchange,
  outcome: Outcome,
  { account, key, model }: Readonly<Record<string, unknown>>,
): FailedCall | undefined => {
  const { slots, id, route } = exchange
  const failure = failureOf(exchange, outcome)
  return (
    failure && {
      request: id,
      at: Date.now(),
      account: typeof account === 'number' ? account : 0,
      key: typeof key === 'number' ? key : null,
      member: slots.get(ACCOUNT)?.member?.id,
      route: route.name,
      model: typeof model === 'string' ? boundText(model, MAX_NAME) : '',
      ...failure,
      ms: Math.round(outcome.ms.whole),
      cost: slots.get(CHARGE)?.nanos ?? 0n,
      attempts: boundTries(slots.get(TRIES) ?? []),
    }
  )
}

const failureOf = ({ slots, kind }: Exchange, outcome: Outcome): Failure | undefined => {
  const { end, fault } = outcome
  // A client ends a WebSocket as it likes.
  if (kind === 'websocket' && end === 'hangup') return undefined
  const hasFailed = outcome.status >= 400 || end === 'cut' || end === 'hangup' || isErrored(slots)
  if (!hasFailed) return undefined
  const { status } = outcome
  if (!fault) return { status, ...withoutFault(slots, outcome) }
  return { status, code: fault.code, message: fault.expose ? boundText(fault.message) : '' }
}
/** An error of the upstream that passed, or one that a stage answered itself. */
const withoutFault = (slots: Exchange['slots'], { attempts }: Outcome) => {
  const text = slots.get(STREAM_ERROR_TEXT)
  const message =
    text === undefined ? (slots.get(TRIES)?.findLast(isFailed)?.message ?? '') : messageIn(text)
  return { code: attempts > 0 ? 'UPSTREAM_REFUSED' : 'REFUSED', message }
}
const isErrored = (slots: Exchange['slots']): boolean =>
  slots.get(STREAM_ERRORED) === true || slots.get(UNANSWERED) === true

const boundTries = (tries: readonly Try[]): readonly Try[] =>
  tries.length <= MAX_TRIES ? tries : [...tries.slice(0, MAX_TRIES - 1), ...tries.slice(-1)]
