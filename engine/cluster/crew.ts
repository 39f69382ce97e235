/** The workers: forked, watched, replaced, renewed one by one, all on one version or none on the new one. */
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { AllowanceOwner } from '../allowance-owner.ts'
import type { Exposition } from '../exposition.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Log } from '../plugin.ts'
import { ofType } from './hearing.ts'
import { Member, type Refusal } from './member.ts'
import { BEAT, type FromWorker, type Sealed } from './messages.ts'
import { createBackoff, createWatchdog } from './patience.ts'

export interface CrewOptions {
  readonly count: number
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly exposition: Exposition
  readonly allowances: AllowanceOwner
}
export type Start = { readonly port: number } | { readonly cannot: string } | Refusal
export interface Crew {
  readonly members: readonly Member[]
  /** Whether workers crash again and again. */
  readonly looping: boolean
  /** Forks the workers; resolves when all of them serve, or with why one never will. */
  start(sealed: Sealed): Promise<Start>
  /** Every worker prepares; then all swap, or none does and this says why. */
  publish(sealed: Sealed): Promise<Refusal | 'died' | undefined>
  /** Replaces every worker by a fresh one, one after another. */
  renew(): Promise<void>
  /** Brings the numbers of all workers into the exposition. */
  collect(): Promise<void>
  /** Everybody leaves within `grace` ms. */
  drain(grace: number): Promise<void>
  /** At once. */
  kill(): void
}

/** ms without a sign of life until a worker is spoken of, and until it is killed: by what it is doing. */
const NOTICED = 1_000
const LOST = { serving: 3_000, preparing: 10_000, starting: 30_000, leaving: 30_000 }
/** Superseded plugin code cannot be unloaded; past this much a worker is renewed. */
const GARBAGE = 50 * 1024 * 1024
/** A renewed worker may end its streams in peace: its successor serves already. */
const FAREWELL = 15 * 60_000
const SCRAPE = 1_000
/** A worker that has not left this long after the grace is ended. */
const MARGIN = 500

export const createCrew = (options: CrewOptions): Crew => new Workers(options)

class Workers implements Crew {
  readonly #options: CrewOptions
  readonly #all = new Set<Member>()
  readonly #backoff = createBackoff()
  readonly #watchdog = createWatchdog(BEAT)
  readonly #timer: NodeJS.Timeout
  #current: Sealed | undefined
  #draining = false
  #renewing: Promise<void> = Promise.resolve()
  /** What the start waits for, until the first of it is known. */
  #started: ((start: Start) => void) | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#watch(), BEAT)
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({
      exec: fileURLToPath(new URL('../worker.ts', import.meta.url)),
      args: [],
    })
  }
  get members(): readonly Member[] {
    return [...this.#all]
  }
  get looping(): boolean {
    return this.#backoff.looping
  }
  start(sealed: Sealed): Promise<Start> {
    this.#current = sealed
    return new Promise(resolve => {
      this.#started = resolve
      for (let number = 1; number <= this.#options.count; number++) this.#launch(number)
    })
  }
  async publish(sealed: Sealed): Promise<Refusal | 'died' | undefined> {
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
    return undefined
  }
  renew(): Promise<void> {
    for (const member of this.#in('serving')) this.#replace(member)
    return this.#renewing
  }
  async collect(): Promise<void> {
    const late = new Promise(resolve => setTimeout(resolve, SCRAPE).unref())
    const reports = this.members.map(member => {
      const report = member.hearing.next(ofType('metrics'))
      member.send({ type: 'metrics' })
      return report
    })
    await Promise.race([Promise.all(reports), late])
  }
  async drain(grace: number): Promise<void> {
    this.#draining = true
    for (const member of this.#all) {
      member.state = 'leaving'
      member.send({ type: 'drain', grace })
    }
    const overdue = setTimeout(() => this.kill(), grace + MARGIN)
    await Promise.all(
      this.members.map(member => new Promise(left => member.worker.on('exit', left))),
    )
    clearTimeout(overdue)
  }
  kill(): void {
    this.#draining = true
    clearInterval(this.#timer)
    for (const member of this.#all) member.worker.process.kill('SIGKILL')
  }

  #in(...states: readonly Member['state'][]): readonly Member[] {
    return this.members.filter(({ state }) => states.includes(state))
  }
  #launch(number: number): Member {
    const member = new Member(number)
    this.#all.add(member)
    this.#watchdog.heard(member.id)
    this.#options.allowances.attach(member.id, member.channel())
    member.worker.on('message', message => this.#heard(member, message as FromWorker))
    member.worker.on('exit', (code, signal) => this.#exited(member, code, signal))
    void this.#bring(member)
    return member
  }
  /** Hands a new worker the serving version, and again if a reload came in between; then it listens. */
  async #bring(member: Member): Promise<void> {
    await member.up
    let sealed: Sealed | undefined
    while (sealed !== this.#current) {
      sealed = this.#current
      const answer = sealed ? await member.prepare(sealed) : 'died'
      if (answer === 'died') return
      if (answer !== 'prepared') return this.#unfit(member, answer)
    }
    const swapped = await member.swap(sealed?.version ?? 0)
    if ('cannot' in swapped) return this.#unfit(member, swapped)
    this.#options.log.info({ worker: member.number, child: member.pid }, 'a worker serves')
    if (this.#in('serving').length >= this.#options.count) this.#settle(swapped)
  }
  /** It refuses what the others serve, or cannot listen: no better than a crash. */
  #unfit(member: Member, why: Start): void {
    this.#options.log.error({ worker: member.number, why }, 'a worker cannot serve')
    this.#settle(why)
    member.worker.process.kill('SIGKILL')
  }
  #settle(start: Start): void {
    this.#started?.(start)
    this.#started = undefined
  }
  #heard(member: Member, message: FromWorker): void {
    this.#watchdog.heard(member.id)
    member.warned = false
    if (message.type === 'metrics')
      this.#options.exposition.absorb(String(member.id), message.samples)
    if (message.type === 'renew' && member.state === 'serving') this.#replace(member)
    if (message.type !== 'beat') return
    member.garbage = message.garbage
    if (message.garbage > GARBAGE && member.state === 'serving') this.#replace(member)
  }
  #exited(member: Member, code: number | null, signal: string | null): void {
    const { allowances, exposition, log, metrics } = this.#options
    this.#all.delete(member)
    this.#watchdog.forget(member.id)
    allowances.detach(member.id)
    exposition.forget(String(member.id))
    if (this.#draining) return
    const reason = member.state === 'leaving' ? 'renewed' : member.reason
    metrics.count('worker_restarts_total', { reason })
    if (reason === 'renewed') return
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
      member.send({ type: 'drain', grace: FAREWELL })
    })
  }
  #watch(): void {
    this.#watchdog.tick()
    for (const member of this.#all) {
      const silence = this.#watchdog.silence(member.id)
      if (silence > NOTICED && !member.warned && member.state === 'serving') {
        member.warned = true
        this.#options.log.warn({ worker: member.number, silence }, 'a worker does not answer')
      }
      if (silence <= LOST[member.preparing ? 'preparing' : member.state]) continue
      member.reason = 'stalled'
      member.worker.process.kill('SIGKILL')
    }
  }
}
