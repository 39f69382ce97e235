/** One worker process as the primary sees it. */
import { type ChildProcess, fork, type SendHandle } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Channel } from '../quota/channel.ts'
import type { Taker } from './connection-distributor.ts'
import { expectMany, handOver } from './connection-transfer.ts'
import { withYoung } from './heap-flags.ts'
import { Hearing, ofType } from './message-waiter.ts'
import type { FromWorker, Refused, Sealed, ToWorker } from './messages.ts'

export type State = 'starting' | 'serving' | 'leaving'
export type Refusal = Pick<Refused, 'problems' | 'text'>

/** MiB. What a hundred requests in flight have made dies in a young generation of this size. */
const YOUNG = 32

/** ms without a sign of life until a worker is spoken of, and until it is killed: by what it is doing. */
const NOTICED = 1_000
const LOST = { serving: 3_000, preparing: 10_000, starting: 30_000, leaving: 30_000 }

export class Member implements Taker {
  /** Its place among the workers; the one that replaces it takes the same. */
  readonly number: number
  readonly process: ChildProcess
  readonly hearing = new Hearing<FromWorker>()
  /** It has loaded its program and can be asked. */
  readonly up: Promise<unknown>
  state: State = 'starting'
  /** The version it builds beside the one it serves. */
  preparing = false
  /** What it serves; 0: nothing yet. */
  version = 0
  garbage = 0
  /** Why it ends, where the primary ended it. */
  reason: 'crash' | 'stalled' = 'crash'
  /** It does not answer. */
  mute = false
  renewing = false

  constructor(number: number, codeFolder: string) {
    this.number = number
    this.process = fork(new URL('./worker.ts', import.meta.url), [`worker ${number}`], {
      env: { NODE_COMPILE_CACHE: codeFolder, ...process.env },
      execArgv: [...withYoung(YOUNG)],
    })
    expectMany(this.process)
    this.up = this.hearing.next(ofType('up'))
    this.process.on('message', message => this.hearing.said(message as FromWorker))
    // A message to a process that has just ended; its exit is what counts.
    this.process.on('error', () => {})
    this.process.on('exit', () => this.hearing.ended())
  }
  get pid(): number {
    return this.process.pid ?? 0
  }
  get open(): boolean {
    return this.state === 'serving' && this.version > 0 && !this.mute
  }
  send(message: ToWorker): void {
    if (this.process.connected) this.process.send(message)
  }
  offer(id: number, socket: Socket): void {
    // The bare handle: a Socket would be closed here as soon as it is sent, taken or not.
    const { _handle: handle } = socket as unknown as { readonly _handle: SendHandle | null }
    const message: ToWorker = { type: 'connection', id }
    if (handle && this.process.connected) handOver(this.process, message, handle)
    else this.send(message)
  }
  /** `died`: it ended meanwhile. */
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
  /** From now on it serves what it prepared. */
  async swap(version: number): Promise<void> {
    this.state = 'serving'
    const answer = this.hearing.next(
      (message): message is Extract<FromWorker, { type: 'serving' }> =>
        message.type === 'serving' && message.version === version,
    )
    this.send({ type: 'swap', version })
    if (await answer) this.version = version
  }
  /** By the ms without a sign of life: `mute` when it is first noticed. */
  judge(silence: number): 'well' | 'mute' | 'lost' {
    if (silence > LOST[this.preparing ? 'preparing' : this.state]) {
      this.reason = 'stalled'
      return 'lost'
    }
    if (silence <= NOTICED || this.mute || this.state !== 'serving') return 'well'
    this.mute = true
    return 'mute'
  }
  /** For numbers that the workers of a machine share. */
  channel(): Channel {
    return {
      send: message => this.send(message as ToWorker),
      on: listener => void this.process.on('message', listener),
    }
  }
}
