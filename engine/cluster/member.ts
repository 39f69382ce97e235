/** One worker process as the primary sees it. */
import cluster, { type Worker } from 'node:cluster'
import type { Channel } from '../allowance-channel.ts'
import { Hearing, ofType } from './hearing.ts'
import type { FromWorker, Refused, Sealed, ToWorker } from './messages.ts'

/** `preparing` and `serving` at once is the rule: it serves the old version while it prepares the new one. */
export type State = 'starting' | 'serving' | 'leaving'
export type Refusal = Pick<Refused, 'problems' | 'text'>

export class Member {
  /** Its place among the workers; the one that replaces it takes the same. */
  readonly number: number
  readonly worker: Worker
  readonly hearing = new Hearing<FromWorker>()
  /** It has loaded its program and can be asked. */
  readonly up: Promise<unknown>
  state: State = 'starting'
  preparing = false
  version = 0
  garbage = 0
  /** Why it ends, where the primary ended it. */
  reason: 'crash' | 'stalled' = 'crash'
  /** Spoken of already. */
  warned = false
  renewing = false

  constructor(number: number) {
    this.number = number
    this.worker = cluster.fork({ TOLLGATE_WORKER: String(number) })
    this.up = this.hearing.next(ofType('up'))
    this.worker.on('message', message => this.hearing.said(message as FromWorker))
    // A message to a process that has just ended; its exit is what counts.
    this.worker.on('error', () => {})
    this.worker.on('exit', () => this.hearing.ended())
  }
  get id(): number {
    return this.worker.id
  }
  get pid(): number {
    return this.worker.process.pid ?? 0
  }
  send(message: ToWorker): void {
    if (this.worker.isConnected()) this.worker.send(message)
  }
  /** Builds the version beside the one it serves. `died`: it ended meanwhile. */
  async prepare(sealed: Sealed): Promise<Refusal | 'prepared' | 'died'> {
    const { version } = sealed
    this.preparing = true
    const answer = this.hearing.next(
      (message): message is Extract<FromWorker, { type: 'prepared' | 'problems' }> =>
        ofType('prepared', 'problems')(message) && message.version === version,
    )
    this.send({ type: 'prepare', sealed })
    const said = await answer
    this.preparing = false
    if (!said) return 'died'
    return said.type === 'problems' ? said : 'prepared'
  }
  /** Serves what it prepared; the first time it begins to listen. */
  async swap(version: number): Promise<{ readonly port: number } | { readonly cannot: string }> {
    const answer = this.hearing.next(
      (message): message is Extract<FromWorker, { type: 'serving' | 'failed' }> =>
        message.type === 'failed' || (message.type === 'serving' && message.version === version),
    )
    this.state = 'serving'
    this.send({ type: 'swap', version })
    const said = await answer
    if (!said) return { cannot: `worker ${this.number} ended` }
    if (said.type === 'failed') return { cannot: said.message }
    this.version = version
    return { port: said.port }
  }
  /** For numbers that the workers of a machine share. */
  channel(): Channel {
    return {
      send: message => this.send(message as ToWorker),
      on: listener => void this.worker.on('message', listener),
    }
  }
}
