/** The builder as the primary sees it: asked for versions; a file that hangs or ends it is named. */
import { fork } from 'node:child_process'
import { format, type Problem } from '../config/problem.ts'
import type { Exposition } from '../exposition.ts'
import type { Log } from '../plugin.ts'
import { keep } from './child.ts'
import { ofType } from './hearing.ts'
import {
  BEAT,
  type Build,
  type Built,
  type FromBuilder,
  type Refused,
  type Sealed,
  type ToBuilder,
  type Unchanged,
} from './messages.ts'
import { createWatchdog } from './patience.ts'

export interface WorkshopOptions {
  readonly config: string
  readonly log: Log
  readonly exposition: Exposition
  /** ms in which a builder that runs a plugin's code must give a sign of life. */
  readonly patience?: number
  /** It needs the store, which is at this address. */
  needsStore(url: string, data: string): void
}
export interface Workshop {
  build(request?: Omit<Build, 'type'>): Promise<Built | Unchanged | Refused>
  /** What it built serves now. */
  live(sealed: Sealed): void
  /** Runs the plugins' `welcome`s. */
  welcome(url: string): Promise<readonly string[]>
  stop(): Promise<void>
}

const SELF = 0

export const createWorkshop = (options: WorkshopOptions): Workshop => {
  const { config, log, exposition, patience = 10_000 } = options
  const watchdog = createWatchdog(BEAT)
  let up = Promise.withResolvers<void>()
  let serving: Sealed | undefined
  let step = config
  let hung = false
  const child = keep<ToBuilder, FromBuilder>({
    name: 'builder',
    log,
    start: () => fork(new URL('../builder.ts', import.meta.url), [config]),
    heard(message) {
      watchdog.heard(SELF)
      if (message.type === 'step') step = message.file
      if (message.type === 'store') options.needsStore(message.url, message.data)
      if (message.type === 'metrics') exposition.absorb('builder', message.samples)
      if (message.type !== 'up') return
      if (serving) child.send({ type: 'serving', sealed: serving })
      up.resolve()
    },
    ended() {
      watchdog.forget(SELF)
      exposition.forget('builder')
      up = Promise.withResolvers()
    },
  })
  const timer = setInterval(() => {
    watchdog.tick()
    if (watchdog.silence(SELF) < patience) return
    hung = true
    child.kill()
  }, BEAT)
  return {
    async build(request = {}) {
      await up.promise
      step = config
      hung = false
      const answer = child.hearing.next(ofType('built', 'unchanged', 'problems'))
      child.send({ type: 'build', ...request })
      return (await answer) ?? lost(step, hung ? patience : undefined)
    },
    live(sealed) {
      serving = sealed
      child.send({ type: 'live', version: sealed.version })
    },
    async welcome(url) {
      await up.promise
      const answer = child.hearing.next(ofType('welcomed'))
      child.send({ type: 'welcome', url })
      return (await answer)?.texts ?? []
    },
    stop() {
      clearInterval(timer)
      return child.stop()
    },
  }
}

/** The builder is gone in the middle of a build: the file whose code it ran last is the problem. */
const lost = (file: string, hung: number | undefined): Refused => {
  const [code, message] = hung
    ? ['PLUGIN_HANGS', `no sign of life for ${hung / 1000} s: does it loop without end?`]
    : ['PLUGIN_ENDS', 'it ended the process that tried it: a plugin must not exit or crash']
  const problem: Problem = { code, message, file, line: 1, column: 1 }
  const text = format([problem], new Map(), 'pretty')
  return { type: 'problems', problems: [problem], text, watched: [] }
}
