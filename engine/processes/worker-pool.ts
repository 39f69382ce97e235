/** The workers: forked, watched, replaced, renewed one by one, all on one version or none on the new one. */

import type { GatewayMetrics } from '../observe/metrics.ts'
import type { Log } from '../plugin.ts'
import type { AllowanceOwner } from '../quota/counter-owner.ts'
import { createBackoff, createWatchdog } from './backoff.ts'
import type { Door } from './connection-distributor.ts'
import { ofType } from './message-waiter.ts'
import { BEAT, type FromWorker, type Sealed } from './messages.ts'
import type { Exposition } from './metrics-exposition.ts'
import { Member, type Refusal } from './worker-handle.ts'

export interface CrewOptions {
  readonly count: number
  /** Where workers keep compiled code, so that the next one is up sooner. */
  readonly codeFolder: string
  readonly door: Door
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly exposition: Exposition
  readonly allowances: AllowanceOwner
}
/** `cannot`: why, in a sentence. */
export type Start = 'serving' | { readonly cannot: string } | Refusal
/** Superseded plugin code cannot be unloaded; past this much a worker is renewed. */
const GARBAGE = 50 * 1024 * 1024
/** A renewed worker may end its streams in peace: its successor serves already. */
const FAREWELL = 15 * 60_000
const SCRAPE = 1_000
const COMPLETE = 10_000
/** A worker that has not left this long after the grace is ended. */
const MARGIN = 750

export class Crew {
  readonly #options: CrewOptions
  readonly #all = new Set<Member>()
  readonly #backoff = createBackoff()
  readonly #watchdog = createWatchdog(BEAT)
  readonly #timer: NodeJS.Timeout
  #current: Sealed | undefined
  #draining = false
  #renewing: Promise<void> = Promise.resolve()
  /** Who waits until all serve. */
  readonly #waiting: (() => void)[] = []
  /** What the start waits for, until the first of it is known. */
  #started: ((start: Start) => void) | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#watch(), BEAT)
  }
  get members(): readonly Member[] {
    return [...this.#all]
  }
  /** Whether workers crash again and again. */
  get looping(): boolean {
    return this.#backoff.looping
  }
  /** Forks the workers; resolves when all of them serve, or with why one never will. */
  start(sealed: Sealed): Promise<Start> {
    this.#current = sealed
    return new Promise(resolve => {
      this.#started = resolve
      for (let number = 1; number <= this.#options.count; number++) this.#launch(number)
    })
  }
  /** Every worker prepares; then all swap, or none does and this says why. `died`: twice, and who knows of what. */
  async publish(sealed: Sealed): Promise<Refusal | 'died' | undefined> {
    const refused = await this.#publish(sealed)
    // It may have died of something else, so there is a second chance.
    return refused === 'died' ? this.#publish(sealed) : refused
  }
  async #publish(sealed: Sealed): Promise<Refusal | 'died' | undefined> {
    // One that is just being replaced must have its say too.
    await this.#complete()
    const serving = this.#in('serving')
    const answers = await Promise.all(serving.map(member => member.prepare(sealed)))
    const refused = answers.find(answer => typeof answer === 'object')
    if (refused || answers.includes('died')) {
      for (const member of serving) member.send({ type: 'discard', version: sealed.version })
      return refused ?? 'died'
    }
    // From here on whoever is forked gets the new version, also in place of one that dies while it swaps.
    this.#current = sealed
    await Promise.all(serving.map(member => member.swap(sealed.version)))
    // One that began to serve while the others prepared was not asked.
    for (const member of this.#in('serving')) {
      if (!serving.includes(member) && member.version !== sealed.version) void this.#update(member)
    }
    return undefined
  }
  /** Replaces every worker by a fresh one, one after another. */
  renew(): Promise<void> {
    for (const member of this.#in('serving')) this.#replace(member)
    return this.#renewing
  }
  /** Brings the numbers of all workers into the exposition. */
  async collect(): Promise<void> {
    const late = new Promise(resolve => setTimeout(resolve, SCRAPE).unref())
    const reports = this.members.map(member => {
      const report = member.hearing.next(ofType('metrics'))
      member.send({ type: 'metrics' })
      return report
    })
    await Promise.race([Promise.all(reports), late])
  }
  /** Everybody leaves within the grace (ms). */
  async drain(grace: number): Promise<void> {
    this.#draining = true
    this.#options.door.close()
    for (const member of this.#all) {
      member.state = 'leaving'
      member.send({ type: 'drain', grace })
    }
    const overdue = setTimeout(() => this.kill(), grace + MARGIN)
    await Promise.all(
      this.members.map(member => new Promise(left => member.process.on('exit', left))),
    )
    clearTimeout(overdue)
  }
  /** At once. */
  kill(): void {
    this.#draining = true
    this.#options.door.close()
    clearInterval(this.#timer)
    for (const member of this.#all) member.process.kill('SIGKILL')
  }

  #in(...states: readonly Member['state'][]): readonly Member[] {
    return this.members.filter(({ state }) => states.includes(state))
  }
  #launch(number: number): Member {
    const member = new Member(number, this.#options.codeFolder)
    this.#all.add(member)
    this.#watchdog.heard(member.pid)
    this.#options.allowances.attach(member.pid, member.channel())
    member.process.on('message', message => this.#heard(member, message as FromWorker))
    member.process.on('exit', (code, signal) => this.#exited(member, code, signal))
    void this.#bring(member)
    return member
  }
  /** A new worker gets the serving version; then it may be offered connections. */
  async #bring(member: Member): Promise<void> {
    if (!(await member.up) || !(await this.#update(member))) return
    this.#options.door.enter(member)
    this.#options.log.info({ worker: member.number, child: member.pid }, 'a worker serves')
    if (this.#in('serving').length < this.#options.count) return
    this.#settle('serving')
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
  /** Until it serves what the others do, also if a reload comes in between. */
  async #update(member: Member): Promise<boolean> {
    for (let sealed = this.#current; sealed; sealed = this.#current) {
      const answer = await member.prepare(sealed)
      if (answer === 'died') return false
      if (answer !== 'prepared') {
        this.#unfit(member, answer)
        return false
      }
      if (sealed !== this.#current) continue
      await member.swap(sealed.version)
      if (sealed === this.#current) return true
    }
    return false
  }
  /** Resolves when all serve, or it takes too long. */
  async #complete(): Promise<void> {
    if (this.#in('serving').length >= this.#options.count) return
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
      setTimeout(resolve, COMPLETE).unref()
    })
  }
  /** It refuses what the others serve: no better than a crash. */
  #unfit(member: Member, why: Start): void {
    this.#options.log.error({ worker: member.number, why }, 'a worker cannot serve')
    this.#settle(why)
    member.process.kill('SIGKILL')
  }
  #settle(start: Start): void {
    this.#started?.(start)
    this.#started = undefined
  }
  #heard(member: Member, message: FromWorker): void {
    this.#watchdog.heard(member.pid)
    if (member.mute) {
      member.mute = false
      this.#options.door.stir()
    }
    if (message.type === 'metrics')
      this.#options.exposition.absorb(String(member.pid), message.samples)
    if (message.type === 'taken') this.#options.door.taken(member, message.id)
    if (message.type === 'renew' && member.state === 'serving') this.#replace(member)
    if (message.type !== 'beat') return
    member.garbage = message.garbage
    if (message.garbage > GARBAGE && member.state === 'serving') this.#replace(member)
  }
  #exited(member: Member, code: number | null, signal: string | null): void {
    const { allowances, door, exposition, log, metrics } = this.#options
    this.#all.delete(member)
    door.lost(member)
    this.#watchdog.forget(member.pid)
    allowances.detach(member.pid)
    exposition.forget(String(member.pid))
    if (this.#draining) return
    if (code !== 0) for (const other of this.#all) other.send({ type: 'peer-exited' })
    if (member.state === 'leaving') return
    const { reason } = member
    metrics.count('worker_restarts_total', { reason })
    const delay = this.#backoff.ended()
    log.error({ worker: member.number, code, signal, reason, delay }, 'a worker ended')
    if (this.looping) this.#settle({ cannot: `worker ${member.number} ends again and again` })
    setTimeout(() => {
      const wanted = this.#in('starting', 'serving').length < this.#options.count
      if (wanted && !this.#draining) this.#launch(member.number)
    }, delay)
  }
  /** One at a time; the old one leaves when the new one serves. */
  #replace(member: Member): void {
    if (member.renewing) return
    member.renewing = true
    this.#renewing = this.#renewing.then(async () => {
      if (this.#draining || member.state !== 'serving') return
      const fresh = this.#launch(member.number)
      const serves = await fresh.hearing.next(ofType('serving'))
      member.renewing = serves !== undefined
      if (!serves) return
      member.state = 'leaving'
      this.#options.metrics.count('worker_restarts_total', { reason: 'renewed' })
      member.send({ type: 'drain', grace: FAREWELL, patient: true })
    })
  }
  #watch(): void {
    this.#watchdog.tick()
    for (const member of this.#all) {
      const silence = this.#watchdog.silence(member.pid)
      const state = member.judge(silence)
      if (state === 'mute') {
        this.#options.log.warn({ worker: member.number, silence }, 'a worker does not answer')
      }
      if (state === 'lost') member.process.kill('SIGKILL')
    }
  }
}
