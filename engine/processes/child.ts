/** One process besides the workers (the builder, the writer), started again whenever it ends unasked. */
import type { ChildProcess } from 'node:child_process'
import type { Log } from '../plugin.ts'
import { createBackoff } from './backoff.ts'
import { Hearing } from './message-waiter.ts'

export interface ChildOptions<From> {
  readonly name: string
  readonly log: Log
  start(): ChildProcess
  heard(message: From): void
  /** It ended by itself; another one follows. */
  ended?(): void
}
/** ms in which one that was asked to end must have ended. */
const FAREWELL = 2_000

export class Child<To extends object, From> {
  readonly hearing = new Hearing<From>()
  readonly #options: ChildOptions<From>
  readonly #backoff = createBackoff()
  readonly #gone = Promise.withResolvers<void>()
  #process: ChildProcess | undefined
  #next: NodeJS.Timeout | undefined
  #stopping = false

  constructor(options: ChildOptions<From>) {
    this.#options = options
    this.#launch()
  }
  /** It ends again and again. */
  get looping(): boolean {
    return this.#backoff.looping
  }
  /** Lost when it has just ended. */
  send(message: To): void {
    this.#process?.send(message)
  }
  kill(): void {
    this.#process?.kill('SIGKILL')
  }
  /** Asks it to end, by `message` or by letting go of it. Resolves when it has ended. */
  stop(message?: To): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#next)
    if (!this.#process) this.#gone.resolve()
    else if (message) this.#process.send(message)
    else if (this.#process.connected) this.#process.disconnect()
    setTimeout(() => this.kill(), FAREWELL).unref()
    return this.#gone.promise
  }
  #launch(): void {
    const child = this.#options.start()
    this.#process = child
    child.on('message', message => {
      this.#options.heard(message as From)
      this.hearing.said(message as From)
    })
    // A message to a process that has just ended; its exit is told below.
    child.on('error', error => {
      this.#options.log.debug({ error }, `the ${this.#options.name} cannot be reached`)
    })
    child.on('exit', (code, signal) => this.#exited(code, signal))
  }
  #exited(code: number | null, signal: string | null): void {
    const { name, log, ended } = this.#options
    this.#process = undefined
    this.hearing.ended()
    if (this.#stopping) return this.#gone.resolve()
    log.error({ code, signal }, `the ${name} ended and is started again`)
    ended?.()
    this.#next = setTimeout(() => this.#launch(), this.#backoff.ended())
  }
}
