/** Makes calls tasks: where the client prefers that (RFC 7240), or always. The task and its hold
 *  are durable before the client is answered. */
import type { Exchange, Host, Job, Next, Stage } from '../../../engine/plugin.ts'
import { forwardedHeadersOf } from '../../conversion/forwarded-headers.ts'
import { checkDataUrls } from '../../formats/media/inline-media.ts'
import { asksForStream } from '../../formats/stream-request.ts'
import { ACCOUNT, EARLY_REPLY, EXPANDED_REQUEST, MODEL } from '../../slots.ts'
import { limitOpen, newTask, saveTask } from '../new-task.ts'
import { type Fields, isFinal } from '../task.ts'
import { taskReader, waitForTask } from '../wait.ts'
import { CALL_REQUEST } from './call-tasks.ts'
import { fault } from './faults.ts'
import type { CallRule } from './options.ts'
import { preferenceOf } from './preference.ts'
import { answerWithTask, progressOf } from './view.ts'

export class CallCreateStage implements Stage {
  readonly #host: Host
  readonly #rule: CallRule
  readonly #job: Job

  constructor(host: Host, rule: CallRule, job: Job) {
    this.#host = host
    this.#rule = rule
    this.#job = job
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const { kind, request } = exchange
    // A line of a batch is a task already.
    if (kind === 'turn') return next()
    const preference = preferenceOf(request.headers.prefer)
    if (this.#rule.isAlways) return this.#create(exchange, preference?.wait ?? 0)
    // A preference may be ignored: a stream shows its progress itself.
    if (!preference || asksForStream(request)) return next()
    return this.#create(exchange, preference.wait)
  }
  explain() {
    return { task: this.#rule.isAlways ? 'always' : 'where the client prefers respond-async' }
  }
  async #create(exchange: Exchange, wait: number): Promise<void> {
    const { request, route, slots, targets, writes, signal } = exchange
    const account = slots.need(ACCOUNT)
    const body = (slots.get(EXPANDED_REQUEST)?.body ?? (await request.json())) as Fields
    checkDataUrls(body)
    const [target] = targets
    if (!target) throw new Error(`route "${route.name}" has no target for a task`)
    await limitOpen(this.#host.database, account.id, this.#rule.open, most =>
      fault('TASKS_OF_CALLS_OPEN', [most]),
    )
    slots.set(CALL_REQUEST, { headers: forwardedHeadersOf(request), targets })
    const now = Date.now()
    const draft = newTask(exchange, {
      now,
      body,
      target,
      deadline: now + this.#rule.deadline,
      keep: this.#rule.keep,
      isCall: true,
    })
    const { version } = this.#host.config
    const { database } = this.#host
    const isAwaited = wait > 0
    const start = { job: this.#job, isAwaited }
    const task = await saveTask(this.#host, exchange, draft, { version, ...start })
    // Without a wait it is written together with the answer.
    const address = `${request.path}/${task.id}`
    if (isAwaited) {
      slots.get(EARLY_REPLY)?.(progressOf(task, address))
      await writes.commit()
      this.#job.wake()
    }
    this.#host.log.debug({ task: task.id, model: slots.get(MODEL)?.asked }, 'a call became a task')
    const latest = await waitForTask(task, {
      longest: wait,
      signal,
      membership: this.#host.membership,
      isEnough: ({ state }) => isFinal(state),
      read: taskReader(database, task),
    })
    answerWithTask(exchange, latest, address)
  }
}
