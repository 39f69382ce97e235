/** Client of the builder process, used by the primary: requests versions, and kills a builder that
 *  hangs. The problem then names the file whose code ran last. */
import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import { withTexts } from '../config/compile/blueprint.ts'
import { type PluginFailure, pluginFailure } from '../config/plugins/plugin-failures.ts'
import { format } from '../config/problem.ts'
import { readSettings } from '../config/settings.ts'
import { errors, TollgateError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { patient } from '../store/timeouts.ts'
import { clearStep, openRunningFile, readStep } from './builder/running-file.ts'
import { readStartRecord, removeStartRecord } from './builder/start-record.ts'
import { Child } from './child.ts'
import { heapFlags } from './memory/heap-flags.ts'
import { ofType } from './message-waiter.ts'
import {
  type Build,
  type BuildProblems,
  type BuiltVersion,
  type EncodedVersion,
  type FromBuilder,
  HEARTBEAT,
  type Inspection,
  type StoreSettings,
  type ToBuilder,
  type UnchangedBuild,
} from './messages.ts'
import type { Exposition } from './metrics-exposition.ts'
import { createWatchdog } from './watchdog.ts'

export interface BuilderClientOptions {
  readonly config: string
  readonly log: Log
  readonly exposition: Exposition
  /** ms without a heartbeat after which a builder is killed; plugin code may block it. */
  readonly heartbeatTimeout?: number
  /** ms without a request after which the process ends; the next request starts it again. */
  readonly idleTimeout?: number
  /** Called when the builder is about to open the store. */
  needsStore(store: StoreSettings): void
}

const fault = errors({
  BUILDER_AWAY: [503, 'The builder process ended before it answered. Retry; see the log.'],
})

const BUILDER_ID = 0
/** Builder processes that may end before one accepts requests. */
const MAX_STARTS = 4
/** Longest build, ms. */
const BUILD_TIMEOUT = 60_000
/** Default of `idleTimeout`. An operator who edits rarely pauses longer; a process that stays holds
 *  the memory of a worker. */
const IDLE_TIMEOUT = 30_000
/** MiB of V8's young generation in the builder process. A build took a fifth less time than with
 *  the default: it allocates in bursts and retains little. */
const SEMI_SPACE = 32

export class BuilderClient {
  readonly #options: BuilderClientOptions
  readonly #watchdog = createWatchdog(HEARTBEAT)
  readonly #child: Child<ToBuilder, FromBuilder>
  readonly #timer: NodeJS.Timeout
  /** Resolves to true when the current process accepts requests, to false when it ended before. */
  #up = Promise.withResolvers<boolean>()
  #idleTimer: NodeJS.Timeout | undefined
  #serving: EncodedVersion | undefined
  /** Whether the process that runs has built the version that goes live next. */
  #hasBuilt = false
  /** Descriptor of the file that names the code which the builder runs. */
  readonly #runningFile = openRunningFile()
  /** The last step that the watchdog saw. */
  #step = 0
  #failure: PluginFailure = 'PLUGIN_ENDS'
  #serial = 0
  #isStopping = false

  constructor(options: BuilderClientOptions) {
    const { config, log, heartbeatTimeout = patient(10_000) } = options
    this.#options = options
    this.#child = new Child({
      name: 'builder',
      log,
      // A start may find that nothing has changed since the last one.
      isResting: true,
      start: () =>
        fork(new URL('./builder.ts', import.meta.url), [config], {
          execArgv: [...heapFlags(SEMI_SPACE, SEMI_SPACE)],
          serialization: 'advanced',
          stdio: ['inherit', 'inherit', 'inherit', 'ipc', this.#runningFile],
        }),
      onMessage: message => this.#onMessage(message),
      onExit: () => this.#onExit(),
    })
    this.#timer = setInterval(() => {
      this.#watchdog.tick()
      if (this.#watchdog.silence(BUILDER_ID) > HEARTBEAT) this.#watchSteps()
      if (this.#watchdog.silence(BUILDER_ID) >= heartbeatTimeout) this.#kill('PLUGIN_HANGS')
    }, HEARTBEAT)
  }
  /** The version of the last start, if nothing that it was built from has changed. */
  readRecord(): BuiltVersion | undefined {
    return readStartRecord(this.#options.config, recordFolder())
  }
  removeRecord(): void {
    removeStartRecord(this.#options.config, recordFolder())
  }
  async build(
    request: Omit<Build, 'type'> = {},
  ): Promise<BuiltVersion | UnchangedBuild | BuildProblems> {
    const { config } = this.#options
    if (!(await this.#ready())) return failedBuild(config, 'BUILDER_ENDS')
    clearStep(this.#runningFile)
    this.#failure = 'PLUGIN_ENDS'
    const pending = this.#child.messages.next(ofType('built', 'unchanged', 'problems'))
    this.#child.send({ type: 'build', ...request })
    const timer = setTimeout(() => this.#kill('BUILD_HANGS'), BUILD_TIMEOUT)
    const outcome = await pending
    clearTimeout(timer)
    // A built version is saved by the process that built it, once it is live.
    if (outcome?.type !== 'built') this.#restWhenIdle()
    if (!outcome && this.#isStopping) return { type: 'unchanged', watchedPaths: [] }
    this.#hasBuilt = outcome?.type === 'built'
    if (outcome?.type === 'built') return this.#complete(outcome)
    return outcome ?? failedBuild(readStep(this.#runningFile).file || config, this.#failure)
  }
  /** Reports to the builder that a version is live; a process that starts later is told, too. */
  markLive(encodedVersion: EncodedVersion): void {
    this.#serving = encodedVersion
    const { version } = encodedVersion
    if (this.#hasBuilt) this.#child.send({ type: 'live', version })
    else this.#tellServing()
    this.#hasBuilt = false
    this.#restWhenIdle()
  }
  /** Runs the `welcome` hooks of the plugins and resolves to their texts. */
  async welcome(url: string): Promise<readonly string[]> {
    if (!(await this.#ready())) return []
    const reply = this.#child.messages.next(ofType('welcomed'))
    this.#child.send({ type: 'welcome', url })
    const texts = (await reply)?.texts ?? []
    this.#restWhenIdle()
    return texts
  }
  /** Resolves to what the builder tells; rejects with its fault, or if it ends first. */
  async inspect(inspection: Inspection): Promise<unknown> {
    if (!(await this.#ready())) throw fault('BUILDER_AWAY')
    const id = ++this.#serial
    const reply = this.#child.messages.next(
      (message): message is Extract<FromBuilder, { type: 'inspected' }> =>
        message.type === 'inspected' && message.id === id,
    )
    this.#child.send({ type: 'inspect', id, inspection })
    const message = await reply
    this.#restWhenIdle()
    if (!message) throw fault('BUILDER_AWAY')
    const { result, error } = message
    if (error) throw new TollgateError(error.code, error.status, error.message)
    return result
  }
  stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    clearTimeout(this.#idleTimer)
    return this.#child.stop()
  }

  /** With the texts that the builder left out, because the live version has them. */
  #complete(built: BuiltVersion): BuiltVersion {
    const serving = this.#serving?.blueprint
    return serving ? { ...built, blueprint: withTexts(built.blueprint, serving) } : built
  }
  async #ready(): Promise<boolean> {
    clearTimeout(this.#idleTimer)
    this.#child.wake()
    for (let tries = 0; tries < MAX_STARTS; tries++) if (await this.#up.promise) return true
    return false
  }
  #restWhenIdle(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      // Requests wait for the next process from now on.
      this.#up = Promise.withResolvers()
      this.#child.rest()
    }, this.#options.idleTimeout ?? IDLE_TIMEOUT)
  }
  #onMessage(message: FromBuilder): void {
    const { exposition, needsStore } = this.#options
    this.#watchdog.beat(BUILDER_ID)
    if (message.type === 'store') needsStore(message.store)
    if (message.type === 'metrics') exposition.absorb('builder', message.samples)
    if (message.type !== 'up') return
    this.#tellServing()
    this.#up.resolve(true)
  }
  #tellServing(): void {
    if (this.#serving) this.#child.send({ type: 'serving', encodedVersion: this.#serving })
  }
  #onExit(): void {
    this.#hasBuilt = false
    this.#watchdog.forget(BUILDER_ID)
    this.#options.exposition.forget('builder')
    this.#up.resolve(false)
    this.#up = Promise.withResolvers()
  }
  /** A build blocks the heartbeats of its process: its steps count as such. */
  #watchSteps(): void {
    const { count } = readStep(this.#runningFile)
    if (count !== this.#step) this.#watchdog.beat(BUILDER_ID)
    this.#step = count
  }
  /** Kills the builder and keeps the reason for the problem. */
  #kill(why: PluginFailure): void {
    this.#failure = why
    this.#child.kill()
  }
}

/** A data folder that routes.yaml names is not known before a build. */
const recordFolder = (): string => resolve(readSettings().data, 'cache')

/** The problem for a builder that ended: it names the file whose code ran last. */
const failedBuild = (file: string, code: PluginFailure): BuildProblems => {
  const problem = pluginFailure(code, file)
  const text = format([problem], new Map(), 'pretty')
  return { type: 'problems', problems: [problem], text, watchedPaths: [] }
}
