/** The owner's dealings with the store that several machines share: how much of a number this machine may give out, when it asks for
 *  more, when it gives back. Where the store is away each machine goes by its fair share. */
import { randomBytes } from 'node:crypto'
import type { Ask, Channel, LeaseAnswer, Leased, Lend } from './channel.ts'
import type { Count } from './count.ts'
import { MACHINE } from './statements.ts'

export interface LeasesOptions {
  readonly now: () => number
  /** ms until a store that does not answer counts as away … */
  readonly patience: number
  /** … and until it is asked again. */
  readonly away: number
  /** ms between two looks at what others were refused, and before one that was refused asks again. */
  readonly every: number
  /** The store is away from now on. */
  lost?(): void
  channelOf(worker: number): Channel | undefined
  find(number: string): Count | undefined
  all(): Iterable<Count>
  /** Something became of it: whoever waits is served, what is wanted goes back. */
  stir(count: Count): void
}
interface Question {
  readonly count: Count
  readonly debt: bigint
  readonly least: bigint
  readonly ms: number
  readonly timer: NodeJS.Timeout
  readonly worker: number
}
/** ms for which what may be held at once stays here unasked for. */
const IDLE = 60_000

export class Leases {
  readonly #options: LeasesOptions
  readonly #questions = new Map<number, Question>()
  /** Workers that are up. */
  readonly #crew = new Set<number>()
  readonly #timer: NodeJS.Timeout
  #machine = nameMachine()
  /** Who speaks for this machine in the store: whoever of its workers did last. */
  #agent: number | undefined
  #machines = 1
  #awayUntil = Number.NEGATIVE_INFINITY
  #serial = 0
  /** The store's time of the last refusal that was seen. */
  #seen = '0'

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#look(), options.every).unref()
  }
  close(): void {
    clearInterval(this.#timer)
    for (const { timer } of this.#questions.values()) clearTimeout(timer)
  }
  /** How much this machine may have out. */
  limitOf(count: Count, ask: Ask): bigint {
    const limit = BigInt(ask.limit)
    const { units } = count.lease
    if (!this.#away) return units < limit ? units : limit
    const fair = (limit + BigInt(this.#machines) - 1n) / BigInt(this.#machines)
    return units > fair ? units : fair
  }
  /** Whether the store is asked for more, and the asks of this number wait for it. */
  asks(count: Count, worker: number, ask: Ask, amount: bigint): boolean {
    const { lease } = count
    lease.used = this.#options.now()
    this.#crew.add(worker)
    if (this.#away || lease.used < lease.again) return false
    const free = lease.units - count.out
    const lack = amount - (free > 0n ? free : 0n)
    // There is enough, and a reload has lowered the limit below it.
    if (lack <= 0n) return false
    this.#ask(count, worker, ask, lack)
    return true
  }
  /** What goes on in spite of the limit is told to the store. */
  owes(count: Count, worker: number, ask: Ask): void {
    if (count.out > count.lease.units && !this.#away && !count.lease.asking)
      this.#ask(count, worker, ask, 0n)
  }
  heard(worker: number, message: Leased): void {
    if (message.verb === 'gone') return this.#gone(message.machine)
    if (message.verb === 'resign') return this.#leave(worker)
    if (message.verb === 'short') {
      this.#seen = message.at
      for (const number of message.numbers) this.#want(this.#options.find(number))
      return
    }
    const question = this.#questions.get(message.id)
    if (!question) return
    this.#settled(message.id, question)
    if (message.granted === undefined) this.#lose()
    else {
      this.#agent = worker
      this.#machines = Math.max(1, message.machines ?? 1)
      this.#credit(question, message)
    }
    this.#options.stir(question.count)
  }
  /** A worker is gone; what it was asking for is not coming, or comes with the next answer. */
  detach(worker: number): void {
    for (const [id, question] of this.#questions)
      if (question.worker === worker) {
        this.#settled(id, question)
        this.#options.stir(question.count)
      }
    this.#leave(worker)
  }
  /** What lies unused goes back, if others want it. */
  release(count: Count): void {
    const { lease, kind, out } = count
    if (!lease.wanted || lease.asking) return
    lease.wanted = false
    const amount = lease.units - (out > 0n ? out : 0n)
    if (amount <= 0n || this.#away) return
    lease.units -= amount
    const back = kind === 'window' ? amount : lease.units
    this.#say(this.#agent, {
      ...{ verb: 'unlease', machine: this.#machine, kind, number: numberOf(count) },
      ...{ amount: String(back), began: lease.began || '0' },
    })
  }

  /** Somebody else speaks for the machine, so that what it has stays its own. */
  #leave(worker: number): void {
    this.#crew.delete(worker)
    if (this.#agent !== worker) return
    this.#agent = this.#crew.values().next().value
    this.#say(this.#agent, { verb: 'join', machine: this.#machine })
  }
  get #away(): boolean {
    return this.#options.now() < this.#awayUntil
  }
  #ask(count: Count, asker: number, { limit, ms }: Ask, least: bigint): void {
    const worker = this.#options.channelOf(this.#agent ?? asker) ? (this.#agent ?? asker) : asker
    const debt = count.out > count.lease.units ? count.out - count.lease.units : 0n
    const id = ++this.#serial
    count.lease.asking = true
    const timer = setTimeout(() => this.#late(id), this.#options.patience).unref()
    this.#questions.set(id, { count, debt, least, ms, timer, worker })
    const amounts = { limit, least: String(least), debt: String(debt) }
    const place = { machine: this.#machine, kind: count.kind, number: numberOf(count) }
    this.#say(worker, { verb: 'lease', id, ...place, ms, ...amounts })
  }
  #settled(id: number, { count, timer }: Question): void {
    clearTimeout(timer)
    this.#questions.delete(id)
    count.lease.asking = false
  }
  #late(id: number): void {
    const question = this.#questions.get(id)
    if (!question) return
    this.#settled(id, question)
    this.#agent = undefined
    this.#lose()
    this.#options.stir(question.count)
  }
  #lose(): void {
    if (!this.#away) this.#options.lost?.()
    this.#awayUntil = this.#options.now() + this.#options.away
  }
  #credit({ count, debt, least, ms }: Question, answer: LeaseAnswer): void {
    const { lease } = count
    const granted = BigInt(answer.granted ?? '0')
    lease.left = BigInt(answer.left ?? '0')
    if (granted < least) lease.again = this.#options.now() + this.#options.every
    if (count.kind === 'held') {
      lease.units = BigInt(answer.slice ?? '0')
      return
    }
    const { began = '', asked = 0 } = answer
    if (began === lease.began) {
      lease.units += granted + debt
      return
    }
    // Another window than was thought, or the first word of it. It counts from before the question: it ends here before it ends there.
    lease.began = began
    lease.units = granted + debt
    count.out = debt
    count.since = asked + (answer.ms ?? ms) - ms
    count.loose.clear()
  }
  #gone(machine: string): void {
    if (machine !== this.#machine) return
    this.#machine = nameMachine()
    this.#agent = undefined
    for (const count of this.#options.all()) if (count.kind === 'held') count.lease.units = 0n
  }
  #want(count: Count | undefined): void {
    if (!count || count.lease.asking || count.lease.units <= 0n) return
    count.lease.wanted = true
    this.#options.stir(count)
  }
  #look(): void {
    if (this.#agent === undefined || this.#away) return
    this.#say(this.#agent, { verb: 'look', since: this.#seen })
    const now = this.#options.now()
    for (const count of this.#options.all()) {
      const { kind, lease } = count
      if (kind !== 'held' || lease.units <= 0n || now < lease.used + IDLE) continue
      lease.used = now
      this.#want(count)
    }
  }
  #say(worker: number | undefined, message: Told): void {
    if (worker !== undefined)
      this.#options.channelOf(worker)?.send({ type: 'allowance', ...message } satisfies Lend)
  }
}
type Told = Lend extends infer Each ? (Each extends Lend ? Omit<Each, 'type'> : never) : never

const nameMachine = (): string => `${MACHINE}${randomBytes(8).toString('hex')}`
/** A number's name in the store. Names of allowances have no line ends. */
const numberOf = ({ name, key }: Pick<Count, 'name' | 'key'>): string => `${name}\n${key}`
