/** A supervised child process besides the workers (builder or writer): restarted with back-off
 *  whenever it ends by itself. */
import type { ChildProcess } from 'node:child_process'
import type { Log } from '../plugin.ts'
import { createBackoff } from './backoff.ts'
import { MessageWaiter } from './message-waiter.ts'

export interface ChildOptions<From> {
  readonly name: string
  readonly log: Log
  /** Whether only `wake` starts it. */
  readonly isResting?: boolean
  start(): ChildProcess
  onMessage(message: From): void
  /** Called when the process has ended by itself or by `rest`. */
  onExit?(): void
}
/** ms between the request to stop and SIGKILL. */
const STOP_TIMEOUT = 2_000

export class Child<To extends object, From> {
  readonly messages = new MessageWaiter<From>()
  readonly #options: ChildOptions<From>
  readonly #backoff = createBackoff()
  readonly #exit = Promise.withResolvers<void>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #stopping = false
  /** `waking`: a resting process is wanted again before it has exited. */
  #state: 'running' | 'resting' | 'waking' = 'running'

  constructor(options: ChildOptions<From>) {
    this.#options = options
    if (options.isResting) this.#state = 'resting'
    else this.#launch()
  }
  /** Whether the process crashes repeatedly. */
  get looping(): boolean {
    return this.#backoff.looping
  }
  /** Drops the message if the process has just ended. */
  send(message: To): void {
    this.#process?.send(message)
  }
  /** Ends an idle process by closing its IPC channel; `wake` starts it again. */
  rest(): void {
    if (!this.#process?.connected) return
    this.#state = 'resting'
    this.#process.disconnect()
  }
  wake(): void {
    if (this.#state !== 'resting') return
    this.#state = this.#process ? 'waking' : 'running'
    if (!this.#process) this.#launch()
  }
  kill(): void {
    this.#process?.kill('SIGKILL')
  }
  /** Asks the process to end, by `message` or by closing its IPC channel. Resolves when it has
   *  exited. */
  stop(message?: To): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restart)
    if (!this.#process) this.#exit.resolve()
    else if (message) this.#process.send(message)
    else if (this.#process.connected) this.#process.disconnect()
    setTimeout(() => this.kill(), STOP_TIMEOUT).unref()
    return this.#exit.promise
  }
  #launch(): void {
    const child = this.#options.start()
    this.#process = child
    child.on('message', message => {
      this.#options.onMessage(message as From)
      this.messages.deliver(message as From)
    })
    // A message could not be sent to a process that has just ended; its exit event follows.
    child.on('error', error => {
      this.#options.log.debug({ error }, `the ${this.#options.name} cannot be reached`)
    })
    child.on('exit', (code, signal) => this.#onExit(code, signal))
  }
  #onExit(code: number | null, signal: string | null): void {
    const { name, log, onExit } = this.#options
    this.#process = undefined
    this.messages.close()
    if (this.#stopping) return this.#exit.resolve()
    onExit?.()
    if (this.#state === 'resting') return
    if (this.#state === 'waking') {
      this.#state = 'running'
      return this.#launch()
    }
    log.error({ code, signal }, `the ${name} ended and is started again`)
    this.#restart = setTimeout(() => this.#launch(), this.#backoff.recordCrash())
  }
}
