/** Tasks of an upstream that is itself asynchronous: submits them, and polls until they end. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Host, Json } from '../../engine/plugin.ts'
import { backOff, type Mover } from './moves.ts'
import type { TaskRule } from './options.ts'
import { PollRate } from './poll-rate.ts'
import { requestBytes } from './requests/request-bytes.ts'
import type { TaskRoute } from './runner.ts'
import { TASK_ERRORS, type Task } from './task.ts'
import { holdsResult, idIn, polledResults, textAt } from './upstream-answer.ts'
import { callUpstream, cancelUpstream, type UpstreamAnswer } from './upstream-call.ts'

/** How often the upstream must not know a task before it is submitted again. */
const FIND_ATTEMPTS = 4

export class UpstreamTasks implements TaskRoute {
  readonly rule: TaskRule
  readonly #host: Host
  readonly #pollRate: PollRate

  constructor(host: Host, rule: TaskRule) {
    this.rule = rule
    this.#host = host
    this.#pollRate = new PollRate(host)
  }
  async step(mover: Mover, signal: AbortSignal): Promise<void> {
    switch (mover.task.state) {
      case 'accepted':
        return this.#submit(mover)
      case 'submitted':
      case 'running':
        return this.#poll(mover, signal)
      // Its process died, or lost the result of a write: the request was perhaps sent.
      case 'submitting':
        return this.rule.find
          ? this.#find(mover, this.rule.find)
          : mover.loseTrack('the process that submitted it lost its answer', this.rule)
      case 'unknown':
        return this.rule.unknownAfter === undefined ? mover.rest() : mover.releaseUnknown(this.rule)
      case 'failed':
        return this.#pollLate(mover)
      default:
        return mover.rest()
    }
  }
  async askForResults(task: Task, signal: AbortSignal): Promise<readonly Json[] | undefined> {
    if (task.upstreamId === undefined) return undefined
    await this.#pollRate.wait(task.target.upstream, signal)
    const answer = await this.#ask(task)
    const state = this.rule.poll.states.get(textAt(answer.json, this.rule.poll.state) ?? '')
    const isFinished = answer.status < 300 && state === 'succeeded'
    const results = isFinished ? polledResults(answer, this.rule) : []
    return holdsResult(results, this.rule) ? results : undefined
  }
  async #submit(mover: Mover): Promise<void> {
    const { task } = mover
    const { idempotency } = this.rule
    if (Date.now() > task.deadline)
      return mover.fail({
        code: TASK_ERRORS.timeout,
        message: 'the task could not be submitted in time',
      })
    const request = await requestBytes(this.#host, this.rule, mover)
    if (!request) return
    const { path, body } = request
    // Due at once for another process, should this one die: see `step`.
    const now = Date.now()
    const attempts = task.attempts + 1
    await mover.move({ state: 'submitting', attempts, started: now, due: now }, true)
    let answer: UpstreamAnswer
    try {
      answer = await callUpstream(this.#host, mover.task, {
        call: { method: 'POST', path },
        body,
        ...(idempotency !== undefined && { headers: { [idempotency]: task.id } }),
      })
    } catch (error) {
      return mover.afterFailedSubmit(asFault(error), this.rule)
    }
    try {
      await mover.afterSubmit(answer, this.rule)
    } catch (error) {
      // Its customer cancelled it meanwhile.
      if (isCode(error, 'TASK_MOVED')) await this.#abandon(mover.task, answer)
      throw error
    }
  }
  /** Cancels at the upstream what a task has submitted that has ended. */
  async #abandon(task: Task, answer: UpstreamAnswer): Promise<void> {
    const upstreamId = answer.status < 300 ? idIn(answer, this.rule.submit.id) : undefined
    if (upstreamId !== undefined)
      await cancelUpstream(this.#host, { ...task, upstreamId }, this.rule)
  }
  /** Asks for a submit whose answer was lost. */
  async #find(mover: Mover, { call, id, absent }: NonNullable<TaskRule['find']>): Promise<void> {
    const { failures, deadline, started = Date.now() } = mover.task
    if (Date.now() > deadline)
      return mover.loseTrack('the upstream could not be asked for it', this.rule)
    const { first, longest } = this.rule.poll
    const delay = backOff(mover.task, first, longest)
    const answer = await callUpstream(this.#host, mover.task, { call }).catch(() => undefined)
    const isOverdue = Date.now() > started + (this.rule.unknownAfter ?? Number.POSITIVE_INFINITY)
    // A call that fails does not show that the upstream has no such task.
    if (!answer || (answer.status >= 300 && answer.status !== absent))
      return isOverdue ? mover.releaseUnknown(this.rule) : mover.retry(delay, failures)
    const upstreamId = answer.status < 300 ? textAt(answer.json, id) : undefined
    if (upstreamId !== undefined)
      return mover.goOn(upstreamId, this.rule).catch(async error => {
        // Its customer cancelled it meanwhile.
        if (isCode(error, 'TASK_MOVED'))
          await cancelUpstream(this.#host, { ...mover.task, upstreamId }, this.rule)
        throw error
      })
    // The upstream may list a request some time after it came.
    return failures < FIND_ATTEMPTS ? mover.retry(delay) : mover.acceptAgain(this.rule.poll)
  }
  async #poll(mover: Mover, signal: AbortSignal): Promise<void> {
    await this.#pollRate.wait(mover.task.target.upstream, signal)
    const { first, longest } = this.rule.poll
    const delay = backOff(mover.task, first, longest)
    try {
      const answer = await this.#ask(mover.task)
      if (answer.status < 300) return await mover.afterPoll(answer, this.rule, delay)
    } catch (error) {
      const { code } = asFault(error)
      if (code === 'TASK_MOVED' || code === 'CHARGE_CLOSED') throw error
    }
    return Date.now() > mover.task.deadline ? mover.expire(this.rule) : mover.retry(delay)
  }
  /** Polls a task that failed by its deadline: the upstream may have finished it later. */
  async #pollLate(mover: Mover): Promise<void> {
    const { find } = this.rule
    if (find && mover.task.error?.code === TASK_ERRORS.cancelled)
      return this.#cancelLost(mover, find)
    if (mover.task.upstreamId === undefined && find) {
      const answer = await callUpstream(this.#host, mover.task, find).catch(() => undefined)
      const id = answer && answer.status < 300 ? textAt(answer.json, find.id) : undefined
      return id === undefined
        ? mover.afterLatePoll(undefined, this.rule)
        : mover.findLate(id, this.rule)
    }
    const answer = await this.#ask(mover.task).catch(() => undefined)
    return mover.afterLatePoll(answer, this.rule)
  }
  /** Cancels at the upstream a task whose customer has cancelled it, and whose submit was lost. */
  async #cancelLost(mover: Mover, { call, id }: NonNullable<TaskRule['find']>): Promise<void> {
    const { task } = mover
    const answer = await callUpstream(this.#host, task, { call }).catch(() => undefined)
    const upstreamId = answer && answer.status < 300 ? textAt(answer.json, id) : undefined
    const isCancelled =
      upstreamId !== undefined &&
      (await cancelUpstream(this.#host, { ...task, upstreamId }, this.rule))
    if (isCancelled || task.failures >= FIND_ATTEMPTS) return mover.endLatePolls()
    return mover.retry(backOff(task, this.rule.poll.first, this.rule.poll.longest))
  }
  /** The answer to a poll, with that to the call for the results if they need one. */
  async #ask(task: Task): Promise<UpstreamAnswer> {
    const { call, resultsCall, state, states } = this.rule.poll
    const answer = await callUpstream(this.#host, task, { call })
    const isFinished = states.get(textAt(answer.json, state) ?? '') === 'succeeded'
    if (!resultsCall || !isFinished || answer.status >= 300) return answer
    const second = await callUpstream(this.#host, task, { call: resultsCall })
    return { ...answer, status: second.status, results: second.json }
  }
}
