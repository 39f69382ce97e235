/** Worker handle: the primary's view of one worker process. */
import { type ChildProcess, fork, type SendHandle } from 'node:child_process'
import type { Socket } from 'node:net'
import { withoutTexts } from '../config/compile/blueprint.ts'
import type { Channel } from '../quota/channel.ts'
import { patient } from '../store/timeouts.ts'
import type { ConnectionReceiver } from './connection-distributor.ts'
import { enablePipelining, sendConnection } from './connection-transfer.ts'
import { workerFlags } from './memory/heap-flags.ts'
import { MessageWaiter, ofType } from './message-waiter.ts'
import {
  type BuildProblems,
  type EncodedVersion,
  type FromWorker,
  HEARTBEAT,
  type ToWorker,
} from './messages.ts'
import { OwnSilence, readCoreWait } from './watchdog.ts'

export type WorkerState = 'starting' | 'serving' | 'leaving'
export type Refusal = Pick<BuildProblems, 'problems' | 'text'>

/** MiB of V8's semi-spaces without a setting: little at rest; under load they grow. */
const SEMI_SPACE = { min: 1, max: 16 }

/** ms without a heartbeat until a stall is logged, and until the worker is killed, by its phase. */
const STALL_NOTICE = 1_000
const STALL_LIMITS = {
  serving: patient(3_000),
  preparing: patient(10_000),
  starting: patient(30_000),
  leaving: patient(30_000),
}

export class WorkerHandle implements ConnectionReceiver {
  /** 1 to the number of workers; a replacement takes the same number. */
  readonly number: number
  readonly process: ChildProcess
  readonly messages = new MessageWaiter<FromWorker>()
  /** Resolves when the worker accepts messages; to undefined if it ended before. */
  readonly ready: Promise<unknown>
  state: WorkerState = 'starting'
  /** Whether the worker prepares a version. */
  isPreparing = false
  /** The version it serves. */
  #serving: EncodedVersion | undefined
  garbage = 0
  /** ms since its store last answered. */
  storeSilence = 0
  /** Why it exits: `stalled` if the primary killed it. */
  reason: 'crash' | 'stalled' = 'crash'
  /** Whether heartbeats are overdue. */
  isStalled = false
  isReplacing = false
  readonly #ownSilence = new OwnSilence(() => readCoreWait(this.pid))

  /** `url`: of the gateway, for clients on this machine. `youngGeneration`: MiB, from the start. */
  constructor(number: number, codeFolder: string, url: string, youngGeneration?: number) {
    const { min, max } = SEMI_SPACE
    this.number = number
    this.process = fork(new URL('./worker.ts', import.meta.url), [`worker ${number}`, url], {
      env: { NODE_COMPILE_CACHE: codeFolder, ...process.env },
      execArgv: [...workerFlags(youngGeneration ?? min, youngGeneration ?? max)],
    })
    enablePipelining(this.process)
    this.ready = this.messages.next(ofType('up'))
    this.process.on('message', message => this.messages.deliver(message as FromWorker))
    // A message could not be sent to a process that has just ended; its exit event follows.
    this.process.on('error', () => {})
    this.process.on('exit', () => this.messages.close())
  }
  get pid(): number {
    return this.process.pid ?? 0
  }
  /** Number of the version that it serves; 0 before the first. */
  get version(): number {
    return this.#serving?.version ?? 0
  }
  get open(): boolean {
    return this.state === 'serving' && this.version > 0 && !this.isStalled
  }
  send(message: ToWorker): void {
    if (this.process.connected) this.process.send(message)
  }
  offer(id: number, socket: Socket): void {
    // The bare handle: Node would close a Socket here once it is sent, acknowledged or not.
    const { _handle: handle } = socket as unknown as { readonly _handle: SendHandle | null }
    const message: ToWorker = { type: 'connection', id }
    if (handle && this.process.connected) sendConnection(this.process, message, handle)
    else this.send(message)
  }
  /** `died`: the worker ended before it replied. */
  async prepare(encodedVersion: EncodedVersion): Promise<Refusal | 'prepared' | 'died'> {
    const { version } = encodedVersion
    this.isPreparing = true
    const pending = this.messages.next(
      (message): message is Extract<FromWorker, { type: 'prepared' | 'problems' }> =>
        ofType('prepared', 'problems')(message) && message.version === version,
    )
    const known = this.#serving?.blueprint
    const blueprint = known
      ? withoutTexts(encodedVersion.blueprint, known)
      : encodedVersion.blueprint
    this.send({ type: 'prepare', encodedVersion: { ...encodedVersion, blueprint } })
    const reply = await pending
    this.isPreparing = false
    if (!reply) return 'died'
    return reply.type === 'problems' ? reply : 'prepared'
  }
  /** Makes the worker serve the version it has prepared. */
  async swap(encodedVersion: EncodedVersion): Promise<void> {
    const { version } = encodedVersion
    this.state = 'serving'
    const pending = this.messages.next(
      (message): message is Extract<FromWorker, { type: 'serving' }> =>
        message.type === 'serving' && message.version === version,
    )
    this.send({ type: 'swap', version })
    if (await pending) this.#serving = encodedVersion
  }
  /** State after `silence` ms without a heartbeat. `stalled` is returned once, when a stall
   *  begins; `overdue` does not count time for which the worker waited for a core. */
  checkHeartbeat(silence: number): 'ok' | 'stalled' | 'overdue' {
    const ownSilence = this.#ownSilence.of(silence, HEARTBEAT)
    if (ownSilence > STALL_LIMITS[this.isPreparing ? 'preparing' : this.state]) {
      this.reason = 'stalled'
      return 'overdue'
    }
    if (silence <= STALL_NOTICE || this.isStalled || this.state !== 'serving') return 'ok'
    this.isStalled = true
    return 'stalled'
  }
  /** Channel for counters that the workers of a machine share. */
  createChannel(): Channel {
    return {
      send: message => this.send(message as ToWorker),
      on: listener => void this.process.on('message', listener),
    }
  }
}
