/** The builder as the primary sees it: asked for versions; a file that hangs or ends it is named. */
import { fork } from 'node:child_process'
import { format, type Problem } from '../config/problem.ts'
import type { Log } from '../plugin.ts'
import { createWatchdog } from './backoff.ts'
import { Child } from './child.ts'
import { withYoung } from './heap-flags.ts'
import { ofType } from './message-waiter.ts'
import {
  BEAT,
  type Build,
  type Built,
  type FromBuilder,
  type Refused,
  type Sealed,
  type StoreSettings,
  type ToBuilder,
  type Unchanged,
} from './messages.ts'
import type { Exposition } from './metrics-exposition.ts'

export interface WorkshopOptions {
  readonly config: string
  readonly log: Log
  readonly exposition: Exposition
  /** ms in which a builder that runs a plugin's code must give a sign of life. */
  readonly patience?: number
  /** It needs the store. */
  needsStore(store: StoreSettings): void
}

const SELF = 0
/** How often a builder may end before it can be asked. */
const STARTS = 4
/** ms that a build may take. */
const LONGEST = 60_000
/** MiB. A configuration is built in bursts that leave little behind: a fifth less time, as measured. */
const YOUNG = 16

export class Workshop {
  readonly #options: WorkshopOptions
  readonly #watchdog = createWatchdog(BEAT)
  readonly #child: Child<ToBuilder, FromBuilder>
  readonly #timer: NodeJS.Timeout
  /** Whether the process of now can be asked; false: it ended before. */
  #up = Promise.withResolvers<boolean>()
  #serving: Sealed | undefined
  /** The file whose code runs, as far as is known. */
  #step: string
  #loss: keyof typeof LOSSES = 'PLUGIN_ENDS'

  constructor(options: WorkshopOptions) {
    const { config, log, patience = 10_000 } = options
    this.#options = options
    this.#step = config
    this.#child = new Child({
      name: 'builder',
      log,
      start: () =>
        fork(new URL('./builder.ts', import.meta.url), [config], {
          execArgv: [...withYoung(YOUNG)],
        }),
      heard: message => this.#heard(message),
      ended: () => this.#ended(),
    })
    this.#timer = setInterval(() => {
      this.#watchdog.tick()
      if (this.#watchdog.silence(SELF) >= patience) this.#give('PLUGIN_HANGS')
    }, BEAT)
  }
  async build(request: Omit<Build, 'type'> = {}): Promise<Built | Unchanged | Refused> {
    const { config } = this.#options
    if (!(await this.#ready())) return lost(config, 'BUILDER_ENDS')
    this.#step = config
    this.#loss = 'PLUGIN_ENDS'
    const answer = this.#child.hearing.next(ofType('built', 'unchanged', 'problems'))
    this.#child.send({ type: 'build', ...request })
    const late = setTimeout(() => this.#give('BUILD_HANGS'), LONGEST)
    const outcome = await answer
    clearTimeout(late)
    return outcome ?? lost(this.#step, this.#loss)
  }
  /** What it built serves now. */
  live(sealed: Sealed): void {
    this.#serving = sealed
    this.#child.send({ type: 'live', version: sealed.version })
  }
  /** Runs the plugins' `welcome`s. */
  async welcome(url: string): Promise<readonly string[]> {
    if (!(await this.#ready())) return []
    const answer = this.#child.hearing.next(ofType('welcomed'))
    this.#child.send({ type: 'welcome', url })
    return (await answer)?.texts ?? []
  }
  stop(): Promise<void> {
    clearInterval(this.#timer)
    return this.#child.stop()
  }

  async #ready(): Promise<boolean> {
    for (let tries = 0; tries < STARTS; tries++) if (await this.#up.promise) return true
    return false
  }
  #heard(message: FromBuilder): void {
    const { exposition, needsStore } = this.#options
    this.#watchdog.heard(SELF)
    if (message.type === 'step') this.#step = message.file
    if (message.type === 'store') needsStore(message.store)
    if (message.type === 'metrics') exposition.absorb('builder', message.samples)
    if (message.type !== 'up') return
    if (this.#serving) this.#child.send({ type: 'serving', sealed: this.#serving })
    this.#up.resolve(true)
  }
  #ended(): void {
    this.#watchdog.forget(SELF)
    this.#options.exposition.forget('builder')
    this.#up.resolve(false)
    this.#up = Promise.withResolvers()
  }
  /** It is ended, and that is why. */
  #give(why: keyof typeof LOSSES): void {
    this.#loss = why
    this.#child.kill()
  }
}

const LOSSES = {
  PLUGIN_HANGS: 'it gives no sign of life: does it loop without end?',
  PLUGIN_ENDS: 'it ended the process that tried it: a plugin must not exit or crash',
  BUILD_HANGS: 'nothing more was heard after it ran: does it wait for something that never comes?',
  BUILDER_ENDS: 'the process that tries new versions cannot start; the log may say why',
} as const

/** The builder is gone: the file whose code it ran last is the problem. */
const lost = (file: string, code: keyof typeof LOSSES): Refused => {
  const problem: Problem = { code, message: LOSSES[code], file, line: 1, column: 1 }
  const text = format([problem], new Map(), 'pretty')
  return { type: 'problems', problems: [problem], text, watched: [] }
}
