/** Creates tasks: the task, its hold and the idempotency answer are durable before the client is
 *  answered, and before anything is sent upstream. */
import type { Exchange, Host, Job, Stage } from '../../engine/plugin.ts'
import { sandboxHeaderOf } from '../conversion/sandbox-header.ts'
import { checkImages } from '../file-store/image-places.ts'
import { checkDataUrls } from '../formats/media/inline-media.ts'
import { ACCOUNT, EARLY_REPLY, EXPANDED_REQUEST } from '../slots.ts'
import { type CallbackReader, callbackReaderOf, encryptedKeyOf } from './callback-request.ts'
import { creditsOf } from './credits.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { taskDialects } from './dialects/index.ts'
import { type Mode, modeNameOf, modesOf } from './modes/modes.ts'
import { limitOpen, newTask, saveTask } from './new-task.ts'
import { deadlineFor, type TaskRule } from './options.ts'
import { findParent, targetBehind } from './requests/parent.ts'
import { type Fields, makeTaskId, type Task } from './task.ts'
import { waitForEnd } from './wait.ts'

export class CreateStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #rule: TaskRule
  readonly #job: Job
  readonly #readCallback: CallbackReader
  readonly #mode: Partial<Mode>

  constructor(host: Host, rule: TaskRule, job: Job) {
    this.#host = host
    this.#rule = rule
    this.#job = job
    this.#readCallback = callbackReaderOf(host, rule.dialect)
    this.#mode = modesOf(host).get(modeNameOf(host.route.name, rule) ?? '') ?? {}
  }
  async handle(exchange: Exchange): Promise<void> {
    const { slots, request } = exchange
    const account = slots.need(ACCOUNT)
    const dialect: TaskDialect = taskDialects[this.#rule.dialect]
    const requestBody = (slots.get(EXPANDED_REQUEST)?.body ?? (await request.json())) as Fields
    const callbackRequest = await this.#readCallback(exchange, requestBody)
    const ownBody = withoutCallback(requestBody, dialect)
    const body = dialect.prepare?.(ownBody, request.path, Math.random()) ?? ownBody
    checkDataUrls(body)
    if (dialect.images) await checkImages(this.#host, dialect.images, { body, caller: account })
    const { database } = this.#host
    await limitOpen(database, account.id, this.#rule.open, dialect.faults.tooManyOpen)
    const { upstreams } = this.#rule
    const [first] = upstreams
      ? exchange.targets.filter(({ upstream }) => upstreams.has(upstream))
      : exchange.targets
    if (!first && upstreams) throw dialect.faults.notServed()
    if (!first) throw new Error(`route "${exchange.route.name}" has no target for a task`)
    const parent = await findParent(exchange, this.#host, { rule: this.#rule, body })
    const now = Date.now()
    const id = `${dialect.idPrefix ?? ''}${makeTaskId(now, Math.random())}`
    const callbackKey =
      callbackRequest && (await encryptedKeyOf(this.#host, id, callbackRequest.key))
    const draft = newTask(exchange, {
      id,
      now,
      body,
      target: parent ? targetBehind(parent, first) : this.#host.pin(first),
      deadline: now + deadlineFor(body, this.#rule),
      keep: this.#rule.keep,
      callback: callbackRequest?.callback,
    })
    const { version } = this.#host.config
    const { name: mode, running } = this.#mode
    const queue = { dialect: this.#rule.dialect, mode, mustWait: running !== undefined }
    const isAwaited = this.#rule.wait > 0
    const start = { job: this.#job, isAwaited }
    const storage = { version, callbackKey, ...queue, ...start }
    const task = await saveTask(this.#host, exchange, draft, storage)
    // The answer leaves once its task is durable, in one transaction with an Idempotency-Key.
    const credits = creditsOf(task, this.#host)
    const headers = sandboxHeaderOf(this.#host, first.upstream)
    const viewOf = (state: Task) => dialect.create(state, { credits })
    if (isAwaited) slots.get(EARLY_REPLY)?.({ status: 200, body: viewOf(task), headers })
    const shownTask = isAwaited ? await this.#waitForEnd(task, exchange) : task
    exchange.answer(200, viewOf(shownTask), headers)
  }
  /** The task as it is at its end, or after the longest wait. */
  async #waitForEnd(task: Task, { writes, signal }: Exchange): Promise<Task> {
    await writes.commit()
    this.#job.wake()
    return waitForEnd(task, { longest: this.#rule.wait, signal, host: this.#host })
  }
  explain() {
    const { dialect, poll } = this.#rule
    return { task: dialect, poll: `${poll.call.method} ${poll.call.path}` }
  }
}

/** The upstream would announce its own id there. */
const withoutCallback = (body: Fields, { callback }: TaskDialect): Fields => {
  if (!callback) return body
  const { [callback.member]: _, ...members } = body
  return members
}
