/** Tasks of an upstream that answers calls itself: runs the call through the stages behind `task`,
 *  and stores its answer. */
import { asFault } from '../../../engine/errors.ts'
import type { Exchange, Fault, Host, Slot, Target } from '../../../engine/plugin.ts'
import { thaw } from '../../billing/rule.ts'
import { servedByOf } from '../../ledger/views/served-by.ts'
import { bytesOf } from '../../pieces/json-pieces.ts'
import { METERED, SERVED, USAGE, type Usage } from '../../slots.ts'
import { type Mover, NOT_SENT } from '../moves.ts'
import { readRequestText } from '../requests/stored-request.ts'
import type { TaskRoute } from '../runner.ts'
import { TASK_ERRORS, type Task, type TaskError } from '../task.ts'
import type { CallRule } from './options.ts'
import { readReply, type StoredReply } from './stored-reply.ts'

/** The data beside the body that a later run of the call needs: stored with the task. */
export const CALL_REQUEST: Slot<{
  readonly headers: Readonly<Record<string, string>>
  readonly targets: readonly Target[]
}> = { name: 'task call', keep: true }

/** ms between two attempts at a busy upstream: the first, and the longest. */
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503])

/** How a run of a call ended. `isSent`: it reached an upstream, or may have. */
type Run =
  | {
      readonly reply: StoredReply
      readonly usage: Usage | undefined
      readonly served: string | null
    }
  | { readonly fault: Fault; readonly isSent: boolean }

export class CallTasks implements TaskRoute {
  readonly #host: Host
  readonly #rule: CallRule

  constructor(host: Host, rule: CallRule) {
    this.#host = host
    this.#rule = rule
  }
  async step(mover: Mover): Promise<void> {
    const { state, attempts, deadline } = mover.task
    if (state === 'submitting')
      return this.#loseAnswer(mover, errorOf('the process that ran this call has ended'))
    if (state !== 'accepted') return mover.rest()
    if (Date.now() > deadline) return mover.fail(timeoutError())
    // Due at once for another process, should this one die.
    await mover.move({ state: 'submitting', attempts: attempts + 1, due: Date.now() }, true)
    const run = await this.#run(mover.task)
    return 'reply' in run ? endWith(mover, run) : this.#afterFault(mover, run)
  }
  #afterFault(mover: Mover, { fault, isSent }: Extract<Run, { fault: Fault }>): Promise<void> {
    if (!isSent && (fault.status >= 500 || fault.status === 429)) return waitForRoom(mover)
    if (fault.code === 'TURN_CANCELLED') return mover.fail(timeoutError())
    const { code, message, status } = fault
    const error = fault.expose ? { code, message, status } : errorOf('the gateway failed')
    return status >= 500 ? this.#loseAnswer(mover, error) : mover.fail(error)
  }
  /** The upstream may have run the call. It is sent again as often as the route allows. */
  #loseAnswer(mover: Mover, error: TaskError): Promise<void> {
    return mover.task.attempts < this.#rule.attempts ? acceptAgain(mover) : mover.fail(error)
  }
  async #run(task: Task): Promise<Run> {
    const { headers = {}, targets = [task.target] } = requestOf(task)
    const pieces = await readRequestText(this.#host.database, task)
    let exchange: Exchange | undefined
    try {
      const reply = await this.#host.run(task.route, {
        after: 'task',
        id: `${task.request}_${task.attempts}`,
        request: {
          method: 'POST',
          path: task.path,
          headers: { ...headers, 'content-type': 'application/json' },
          body: await bytesOf(pieces),
        },
        slots: task.slots,
        targets,
        signal: AbortSignal.timeout(Math.max(1, task.deadline - Date.now())),
        async handle(call, next) {
          exchange = call
          if (task.hold) call.slots.set(METERED, thaw(task.hold.rule).pricedMeters)
          await next()
        },
      })
      const storedReply = await readReply(reply, this.#rule.largest)
      const served = exchange ? servedByOf(exchange) : null
      return { reply: storedReply, usage: exchange && servedUsageOf(exchange), served }
    } catch (error) {
      const fault = asFault(error)
      const isSent = exchange !== undefined && exchange.attempts > 0 && !NOT_SENT.has(fault.code)
      return { fault, isSent }
    }
  }
}

/** The usage with the attributes of the answer, since the task settles without its exchange. */
const servedUsageOf = ({ slots }: Exchange): Usage | undefined => {
  const usage = slots.get(USAGE)
  const attributes = slots.get(SERVED)?.attributes
  return usage && attributes ? { ...usage, attributes } : usage
}

const requestOf = ({ slots }: Task): Partial<NonNullable<typeof CALL_REQUEST.of>> =>
  (slots[CALL_REQUEST.name] ?? {}) as Partial<NonNullable<typeof CALL_REQUEST.of>>

const endWith = (
  mover: Mover,
  { reply, usage, served }: Extract<Run, { reply: StoredReply }>,
): Promise<void> => {
  if (reply.status < 300) return mover.succeed([reply], usage, served)
  if (BUSY_STATUSES.has(reply.status)) return waitForRoom(mover)
  return mover.fail({ ...errorOf('the upstream refused it'), status: reply.status }, [reply])
}
const PAUSES = { first: FIRST_PAUSE, longest: LONGEST_PAUSE }
const acceptAgain = (mover: Mover): Promise<void> => mover.acceptAgain(PAUSES)
/** A busy upstream did not take the call: that was not an attempt. */
const waitForRoom = (mover: Mover): Promise<void> =>
  mover.acceptAgain(PAUSES, mover.task.attempts - 1)
const errorOf = (message: string): TaskError => ({
  code: TASK_ERRORS.internal,
  message,
  status: 500,
})
const timeoutError = (): TaskError => ({
  code: TASK_ERRORS.timeout,
  message: 'the call did not finish in time',
  status: 504,
})
