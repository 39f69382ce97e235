/** One process besides the workers (the builder, the writer), started again whenever it ends unasked. */
import type { ChildProcess } from 'node:child_process'
import type { Log } from '../plugin.ts'
import { Hearing } from './hearing.ts'
import { createBackoff } from './patience.ts'

export interface Child<To, From> {
  /** Ends again and again. */
  readonly looping: boolean
  readonly hearing: Hearing<From>
  /** Lost when it has just ended. */
  send(message: To): void
  kill(): void
  /** Asks it to end, by `message` or by letting go of it. Resolves when it has ended. */
  stop(message?: To): Promise<void>
}
export interface ChildOptions<From> {
  readonly name: string
  readonly log: Log
  start(): ChildProcess
  heard(message: From): void
  /** It ended by itself; another one follows. */
  ended?(): void
}

export const keep = <To extends object, From>(options: ChildOptions<From>): Child<To, From> => {
  const { name, log } = options
  const backoff = createBackoff()
  const hearing = new Hearing<From>()
  let child: ChildProcess | undefined
  let stopping = false
  let gone = (): void => {}

  const launch = (): void => {
    if (stopping) return gone()
    child = options.start()
    child.on('message', message => {
      options.heard(message as From)
      hearing.said(message as From)
    })
    // A message to a process that has just ended; its exit is told below.
    child.on('error', error => log.debug({ error }, `the ${name} cannot be reached`))
    child.on('exit', (code, signal) => {
      child = undefined
      hearing.ended()
      if (stopping) return gone()
      log.error({ code, signal }, `the ${name} ended and is started again`)
      options.ended?.()
      setTimeout(launch, backoff.ended()).unref()
    })
  }
  launch()
  return {
    get looping() {
      return backoff.looping
    },
    hearing,
    send: message => void child?.send(message),
    kill: () => void child?.kill('SIGKILL'),
    stop: message =>
      new Promise(resolve => {
        stopping = true
        gone = resolve
        if (!child) return resolve()
        if (message) child.send(message)
        else if (child.connected) child.disconnect()
      }),
  }
}
