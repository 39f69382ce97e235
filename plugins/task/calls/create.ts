/** Makes calls tasks: where the client prefers that (RFC 7240), or always. The task and its hold
 *  are durable before the client is answered. */
import type { Exchange, Host, Job, Next, Stage } from '../../../engine/plugin.ts'
import { asksForStream } from '../../formats/stream-request.ts'
import { ACCOUNT, EXPANDED_REQUEST, MODEL } from '../../slots.ts'
import { newTask, saveTask } from '../new-task.ts'
import { OPEN, taskReader } from '../statements.ts'
import { type Fields, isFinal } from '../task.ts'
import { waitForTask } from '../wait.ts'
import { CALL_REQUEST } from './call-tasks.ts'
import { fault } from './faults.ts'
import type { CallRule } from './options.ts'
import { preferenceOf } from './preference.ts'
import { answerWithTask } from './view.ts'

/** Headers of the client that the call keeps: no credentials, no message framing. */
const KEPT_HEADER = /^(?:x-tollgate-strict|openai-.*|anthropic-.*|traceparent)$/

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
    const [target] = targets
    if (!target) throw new Error(`route "${route.name}" has no target for a task`)
    await this.#limitOpen(account.id)
    slots.set(CALL_REQUEST, { headers: keptHeadersOf(request.headers), targets })
    const now = Date.now()
    const task = newTask(exchange, {
      now,
      body,
      target,
      deadline: now + this.#rule.deadline,
      keep: this.#rule.keep,
      isCall: true,
    })
    const { version } = this.#host.config
    saveTask(writes, task, { version })
    await writes.commit()
    this.#job.wake()
    this.#host.log.debug({ task: task.id, model: slots.get(MODEL)?.asked }, 'a call became a task')
    const latest = await waitForTask(task, {
      longest: wait,
      signal,
      isEnough: ({ state }) => isFinal(state),
      read: taskReader(this.#host.database, task),
    })
    answerWithTask(exchange, latest, `${request.path}/${task.id}`)
  }
  async #limitOpen(account: number): Promise<void> {
    const most = this.#rule.open
    if (most === undefined) return
    const [row] = await this.#host.database.read(OPEN, [account])
    if (Number(row?.open ?? 0) >= most) throw fault('TASKS_OF_CALLS_OPEN', [most])
  }
}

const keptHeadersOf = (headers: Exchange['request']['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && KEPT_HEADER.test(entry[0]),
    ),
  )
