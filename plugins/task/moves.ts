/** Moves one claimed task from state to state. Each move is one transaction: the state, the
 *  callback that announces it, and at the end the settlement or the release of the hold. */
import type { Fault, Host, Json, Statement } from '../../engine/plugin.ts'
import { chargeLate } from '../ledger/views/task-charges.ts'
import { writeWhileAway } from '../ledger/write-with-retry.ts'
import type { Usage } from '../slots.ts'
import { announce, eraseKey } from './callbacks.ts'
import type { TaskRule } from './options.ts'
import { forgetRequest } from './requests/stored-request.ts'
import { closeHold, countTagged, servedAtEnd } from './results/closed-hold.ts'
import { sourcesIn } from './results/results.ts'
import { addResults, type Move, moveTask } from './statements.ts'
import { type Copy, TASK_ERRORS, type Task, type TaskError, UNKNOWN_ERROR } from './task.ts'
import {
  errorOf,
  finishedResults,
  hasError,
  holdsResult,
  idIn,
  isRefusal,
  polledResults,
  progressOf,
  reportedUsage,
  submitOutcome,
  textAt,
} from './upstream-answer.ts'
import { cancelUpstream, type UpstreamAnswer } from './upstream-call.ts'
import { usageAtEnd } from './usage.ts'

/** Faults after which the upstream surely did nothing: it did not get the whole request, or a limit
 *  refused it. */
export const NOT_SENT: ReadonlySet<string> = new Set([
  'TARGET_UNREACHABLE',
  'TARGET_CLOSED',
  'TARGET_BUSY',
  'UPSTREAM_LIMITED',
])
/** The operator's account at the upstream is at fault, not the customer. */
const OPERATOR_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

export class Mover {
  readonly #host: Host
  readonly #process: string
  readonly #isWanted: () => boolean
  task: Task

  /** `isWanted`: whether a write is tried again while the store is away. */
  constructor(host: Host, task: Task, process: string, isWanted: () => boolean) {
    this.#host = host
    this.task = task
    this.#process = process
    this.#isWanted = isWanted
  }
  /** `keep`: this process goes on with the task. */
  async move(move: Move, keep = false, more: readonly Statement[] = []): Promise<void> {
    const now = Date.now()
    const { due, copyDue, ...members } = move
    const isCopying = copyDue !== undefined
    const after = { ...this.task, ...members, isCopying, changed: now }
    const list = [
      moveTask(this.task, move, this.#process, now, keep),
      ...(await announce(this.task.state, after, this.#host, now)),
      ...addResults(this.task, after),
      ...forgetRequest(this.task, after),
      ...more,
    ]
    await writeWhileAway(this.#host.database, list, this.#isWanted)
    this.task = after
    const { id, state, upstreamId } = this.task
    this.#host.log.debug({ task: id, state, upstreamId, due }, 'a task moved')
  }
  /** Gives the task back unchanged: nothing is left to do until an operator decides. */
  rest(): Promise<void> {
    return this.move({ state: this.task.state })
  }
  retry(delay: number, failures = this.task.failures + 1): Promise<void> {
    return this.move({ state: this.task.state, failures, due: Date.now() + delay })
  }
  fail(error: TaskError, results: readonly Json[] = []): Promise<void> {
    return this.#end('failed', { error, results })
  }
  /** `usage`: what the answer reports; by default that of the request is charged. `served`: what
   *  served it, as JSON; by default the target and the id of the task. */
  succeed(results: readonly Json[], usage?: Usage, served?: string | null): Promise<void> {
    return this.#end('succeeded', { results }, usage, served)
  }
  async afterSubmit(answer: UpstreamAnswer, rule: TaskRule): Promise<void> {
    const { status, json } = answer
    if (status === 429 || status === 503) return this.acceptAgain(rule.poll)
    const outcome = submitOutcome(answer, rule)
    if (outcome === 'unknown') return this.loseTrack(`the upstream answered ${status}`, rule)
    if (outcome === 'again') return this.acceptAgain(rule.poll)
    if (outcome === 'failed') return this.#refused(status, json, rule)
    const upstreamId = idIn(answer, rule.submit.id)
    if (upstreamId === undefined)
      return rule.submit.code === undefined && isRefusal(answer, rule)
        ? this.#refused(status, json, rule)
        : this.loseTrack(`the upstream's answer has no id at ${rule.submit.id}`, rule)
    const results = finishedResults(json, rule)
    if (results) return this.afterSuccess(answer, results, rule, { upstreamId })
    const reported = reportedUsage(answer, rule)
    const due = Date.now() + rule.poll.first
    await this.move({ state: 'submitted', upstreamId, due, ...(reported && { reported }) })
  }
  afterFailedSubmit(fault: Fault, rule: TaskRule): Promise<void> {
    const again = NOT_SENT.has(fault.code) || rule.idempotency !== undefined
    return again ? this.acceptAgain(rule.poll) : this.loseTrack(fault.message, rule)
  }
  afterPoll(answer: UpstreamAnswer, rule: TaskRule, delay: number): Promise<void> {
    const { json } = answer
    const { poll } = rule
    const state = poll.states.get(textAt(json, poll.state) ?? '') ?? this.task.state
    if (state === 'succeeded') return this.afterSuccess(answer, polledResults(answer, rule), rule)
    if (state === 'failed') return this.#end('failed', { error: errorOf(json, rule) })
    if (Date.now() > this.task.deadline) return this.expire(rule)
    // States only go forward: an upstream that queues a running task again changes nothing.
    const forward = this.task.state === 'running' ? 'running' : state
    const progress = progressOf(json, poll.progress)
    return this.move({
      state: forward,
      failures: 0,
      due: Date.now() + delay,
      ...(progress !== undefined && { progress }),
    })
  }
  /** Cancels the task at the upstream if that can be done, and fails it by its deadline. It is
   *  polled again at the times of `late`. */
  async expire(rule: TaskRule): Promise<void> {
    await cancelUpstream(this.#host, this.task, rule)
    const due = nextLatePoll(this.task, rule)
    const error = { code: TASK_ERRORS.timeout, message: 'the task did not finish in time' }
    return this.#end('failed', { error, ...(due !== undefined && { due }) })
  }
  /** `answer`: undefined where the poll failed. */
  afterLatePoll(answer: UpstreamAnswer | undefined, rule: TaskRule): Promise<void> {
    const { poll } = rule
    const state = poll.states.get(textAt(answer?.json, poll.state) ?? '')
    if (answer && state === 'succeeded')
      return this.afterSuccess(answer, polledResults(answer, rule), rule)
    const due = state === 'failed' ? undefined : nextLatePoll(this.task, rule)
    return due === undefined ? this.endLatePolls() : this.move({ state: 'failed', due })
  }
  endLatePolls(): Promise<void> {
    return this.move({ state: 'failed' }, false, [eraseKey(this.task.id)])
  }
  /** The upstream has finished. The task ends once its results are copied, if they are. */
  afterSuccess(
    answer: UpstreamAnswer,
    results: readonly Json[],
    rule: TaskRule,
    ids: Pick<Move, 'upstreamId'> = {},
  ): Promise<void> {
    if (rule.poll.needsResult && !holdsResult(results, rule))
      return this.#failEmpty(answer, rule, ids)
    const reported = reportedUsage(answer, rule, this.task.reported)
    const more = { ...ids, ...(reported && { reported }) }
    if (!rule.copies || sourcesIn(results).length === 0) return this.finish({ ...more, results })
    const state = this.task.state === 'failed' ? 'failed' : 'running'
    return this.move({ ...more, state, results, failures: 0, copyDue: Date.now() })
  }
  /** The upstream has made nothing that the customer could use. */
  #failEmpty(
    { json }: UpstreamAnswer,
    rule: TaskRule,
    ids: Pick<Move, 'upstreamId'>,
  ): Promise<void> {
    if (this.task.state === 'failed') return this.endLatePolls()
    const error = hasError(json, rule)
      ? errorOf(json, rule)
      : { code: TASK_ERRORS.internal, message: 'the upstream finished the task without a result' }
    return this.#end('failed', { ...ids, error })
  }
  /** Records the copy of one file, together with its row; this process goes on with the others. */
  addCopy(copy: Copy, row: Statement): Promise<void> {
    const copies = [...this.task.copies, copy]
    return this.move({ state: this.task.state, copies, copyDue: Date.now() }, true, [row])
  }
  /** Any process copies what is missing. `delay`: ms after a failure. */
  copyAgain(delay?: number): Promise<void> {
    const failures = this.task.failures + (delay === undefined ? 0 : 1)
    return this.move({ state: this.task.state, failures, copyDue: Date.now() + (delay ?? 0) })
  }
  finish(move: Omit<Move, 'state'>): Promise<void> {
    return this.task.state === 'failed' ? this.#succeedLate(move) : this.#end('succeeded', move)
  }
  /** The hold of the task was released: another charge takes what the balance covers. */
  async #succeedLate(move: Omit<Move, 'state'>): Promise<void> {
    const { id, model, hold } = this.task
    const usage = usageAtEnd({ ...this.task, ...move })
    const now = Date.now()
    const served = servedAtEnd({ ...this.task, ...move }, now, this.#host.upstreams)
    const charge = hold && usage ? chargeLate(hold, usage, now, served) : []
    await this.move({ ...move, state: 'succeeded', late: true }, false, charge)
    this.#host.metrics.count('tasks_late_total', { model })
    this.#host.log.warn({ task: id, model }, 'a task succeeded after it had failed by its deadline')
  }
  /** The upstream surely does not run it, or it may be sent again. Times in ms; `attempts`: those
   *  that count. */
  acceptAgain(
    { first, longest }: Pick<TaskRule['poll'], 'first' | 'longest'>,
    attempts = this.task.attempts,
  ): Promise<void> {
    const failures = this.task.failures + 1
    const due = Date.now() + backOff({ ...this.task, failures }, first, longest)
    return this.move({ state: 'accepted', attempts, failures, due })
  }
  /** The upstream may have got the task. With `rule.find` the upstream is asked; otherwise the hold
   *  stays until `unknown_after`, or until an operator decides. */
  loseTrack(reason: string, rule: TaskRule): Promise<void> {
    const { id, model } = this.task
    if (rule.find && Date.now() <= this.task.deadline) {
      const due = Date.now() + rule.poll.first
      return this.move({ state: 'submitting', failures: 0, due })
    }
    this.#host.metrics.count('tasks_unknown_total', { model })
    this.#host.log.error(
      { task: id, model, reason },
      'it is unknown whether the upstream got this task; decide with `tollgate tasks resolve`',
    )
    const { unknownAfter } = rule
    const error = { code: TASK_ERRORS.internal, message: reason }
    const due = unknownAfter === undefined ? {} : { due: Date.now() + unknownAfter }
    return this.move({ state: 'unknown', error, ...due })
  }
  /** Nobody has found out whether the upstream got the task: it fails. If the upstream can be asked
   *  for it, it is looked for at the times of `late`. */
  async releaseUnknown(rule: TaskRule): Promise<void> {
    const { id, model } = this.task
    const due = nextLatePoll(this.task, rule)
    await this.#end('failed', { error: UNKNOWN_ERROR, ...(due !== undefined && { due }) })
    this.#host.metrics.count('tasks_unknown_released_total', { model })
    this.#host.log.warn(
      { task: id, model },
      'a task has failed and is not charged: it is unknown whether the upstream got it; charge it with `tollgate tasks resolve` if it did',
    )
  }
  /** A task that failed is at the upstream after all: it is polled for its results. */
  findLate(upstreamId: string, { poll }: TaskRule): Promise<void> {
    return this.move({ state: 'failed', upstreamId, due: Date.now() + poll.first })
  }
  /** The upstream has it under this id. */
  goOn(upstreamId: string, { poll }: TaskRule): Promise<void> {
    return this.move({ state: 'submitted', upstreamId, failures: 0, due: Date.now() + poll.first })
  }
  #refused(status: number, json: Json | undefined, rule: TaskRule): Promise<void> {
    const error = errorOf(json, rule)
    if (!OPERATOR_STATUSES.has(status) && !/credit|balance|quota/i.test(error.code))
      return this.#end('failed', { error })
    const { id, model } = this.task
    this.#host.metrics.count('tasks_refused_total', { model })
    this.#host.log.error(
      { task: id, model, status, reason: error },
      'the upstream refused a task because of its account; check its key and its balance',
    )
    return this.fail({
      code: TASK_ERRORS.internal,
      message: 'the service could not run this task',
    })
  }
  /** Final state, settlement or release: one transaction. */
  async #end(
    state: 'succeeded' | 'failed',
    move: Omit<Move, 'state'>,
    usage?: Usage,
    served?: string | null,
  ): Promise<void> {
    const { metrics, upstreams } = this.#host
    const startedAt = performance.now()
    const ended = { ...this.task, ...move }
    await this.move(
      { ...move, state, progress: 100 },
      false,
      closeHold(ended, state, usage, served ?? servedAtEnd(ended, Date.now(), upstreams)),
    )
    metrics.time('tasks_settle_seconds', { state }, (performance.now() - startedAt) / 1_000)
    metrics.count('tasks_total', { model: this.task.model, state })
    if (state === 'succeeded') countTagged(this.#host, ended, usage)
  }
}

/** Doubles from the first interval to the longest, with a tenth of jitter. */
export const backOff = (
  { failures, state, changed, created }: Task,
  first: number,
  longest: number,
) => {
  const polls = state === 'running' ? Math.log2(1 + Math.max(0, changed - created) / first) : 0
  const delay = Math.min(longest, first * 2 ** Math.min(20, Math.max(failures, polls - 2)))
  return Math.round(Math.max(first, delay) * (0.9 + Math.random() * 0.2))
}

/** When a task that failed by its deadline is polled again, if at all. */
const nextLatePoll = (
  { deadline, upstreamId }: Task,
  { late, find }: TaskRule,
): number | undefined => {
  if (upstreamId === undefined && !find) return undefined
  const now = Date.now()
  return late.map(time => deadline + time).find(due => due > now)
}
