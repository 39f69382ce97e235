/** A line of a batch is a call of its customer: it is in the sums of calls, and one that fails is
 *  a failed call. Attempts that are repeated are neither, nor are lines that were never sent. */
import type { Bytes, Exchange, Fault, Host } from '../../engine/plugin.ts'
import { tokensIn } from '../billing/tokens.ts'
import { callSumsOf } from '../calls/call-sums.ts'
import { boundText, messageIn } from '../calls/error-message.ts'
import { failedCallsOf } from '../calls/failed-calls.ts'
import { isFields } from '../formats/fields.ts'
import { ACCOUNT, type Account, CHARGE, MODEL, USAGE } from '../slots.ts'
import type { Failure } from '../views.ts'
import type { Batch } from './batch.ts'

/** Bytes of the names in a row. */
const MAX_NAME = 200

export interface EndedLine {
  readonly batch: Batch
  /** The id of its last attempt. */
  readonly request: string
  /** When that attempt began: ms since 1970. */
  readonly started: number
  /** Of the last attempt; undefined if none began. */
  readonly exchange?: Exchange | undefined
  /** Undefined: it succeeded. */
  readonly failure?: Failure | undefined
}
/** Of an error that passed, or one that a stage answered itself. */
export const failureOfReply = (
  exchange: Exchange | undefined,
  status: number,
  bytes: Bytes,
): Failure => ({
  status,
  code: exchange?.attempts ? 'UPSTREAM_REFUSED' : 'REFUSED',
  message: messageIn(Buffer.from(bytes).toString()),
})
export const failureOfFault = ({ status, code, expose, message }: Fault): Failure => ({
  status,
  code,
  message: expose ? boundText(message) : '',
})
export const reportLine = (host: Host, line: EndedLine): void => {
  addToSums(host, line)
  const { batch, request, started, exchange, failure } = line
  if (!failure) return
  const now = Date.now()
  const { target } = exchange?.progress ?? {}
  const { status, code, message } = failure
  failedCallsOf(host).add({
    request,
    at: now,
    account: batch.account,
    key: accountOf(batch)?.key?.id ?? null,
    member: accountOf(batch)?.member?.id,
    route: batch.route,
    model: boundText(modelOf(exchange), MAX_NAME),
    status,
    code,
    message,
    ms: now - started,
    cost: 0n,
    attempts: target
      ? [
          {
            upstream: target.upstream,
            target: target.name ?? null,
            result: status,
            ms: now - started,
          },
        ]
      : [],
  })
}
/** As other calls: those with a known model. Their latencies are not those of calls that a client
 *  waits for, and are left out. */
const addToSums = (host: Host, { batch, exchange, failure }: EndedLine): void => {
  const model = exchange?.slots.get(MODEL)
  if (!exchange || !model) return
  const { slots, progress } = exchange
  const { input, cached, output } = tokensIn(slots.get(USAGE)?.meters ?? {})
  callSumsOf(host).add({
    at: Date.now(),
    account: batch.account,
    key: accountOf(batch)?.key?.id ?? 0,
    member: accountOf(batch)?.member?.id,
    model: model.asked,
    entry: model.entry,
    upstream: progress.target?.upstream ?? '',
    isFailed: failure !== undefined,
    amount: slots.get(CHARGE)?.nanos ?? 0n,
    input: input - cached,
    cached,
    output,
  })
}
const accountOf = ({ slots }: Batch): Account | undefined =>
  slots[ACCOUNT.name] as Account | undefined
/** As the request names it: it may be unknown. */
const modelOf = (exchange: Exchange | undefined): string => {
  const model = exchange?.slots.get(MODEL)
  const body = exchange?.request.outlined
  return model?.asked ?? String((isFields(body) ? body.model : undefined) ?? '')
}
