/** A worker's part in what machines share: it asks the store for slices as the machine's owner of numbers tells it to, and keeps
 *  the machine alive there. */
import type { Database, Log, Migration, Row } from '../plugin.ts'
import { monotonic } from '../store/clock.ts'
import { createMembership, MEMBERSHIP_TABLES, type OwnMembership } from '../store/membership.ts'
import type { Timeouts } from '../store/timeouts.ts'
import type { Channel, Leased, Lend } from './channel.ts'
import {
  clean,
  giveBack,
  keepOnly,
  LEASE_TABLES,
  lease,
  MACHINE_GONE,
  SHORT,
} from './statements.ts'

export interface LenderOptions {
  readonly database: Pick<Database, 'read' | 'write'> & {
    migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  }
  readonly log: Log
  readonly channel: Channel
  readonly now?: () => number
  readonly timeouts?: Timeouts
}
export interface Lender {
  close(): void
}
/** ms between two cleanings. */
const CLEANING = 60_000

export const createLender = (options: LenderOptions): Lender => {
  const lender = new Lending(options)
  // Before the first caller waits for it.
  lender.prepare().catch(() => {})
  options.channel.on(received => {
    const message = received as Lend
    if (message?.type === 'allowance') void lender.heard(message)
  })
  return lender
}

class Lending implements Lender {
  readonly #options: LenderOptions
  readonly #now: () => number
  #tables: Promise<void> | undefined
  #machine: { readonly name: string; readonly membership: OwnMembership } | undefined
  #cleaned: number
  #closed = false

  constructor(options: LenderOptions) {
    this.#options = options
    this.#now = options.now ?? monotonic
    this.#cleaned = this.#now()
  }
  async heard(message: Lend): Promise<void> {
    if (this.#closed) return
    try {
      if (message.verb === 'lease') await this.#lease(message)
      else if (message.verb === 'join') await this.#join(message.machine)
      else if (message.verb === 'unlease') await this.#giveBack(message)
      else if (message.verb === 'look') await this.#look(message)
    } catch (error) {
      if (message.verb === 'lease') this.#say({ verb: 'leased', id: message.id })
      this.#options.log.debug({ error }, 'the store did not answer for a shared limit')
    }
  }
  close(): void {
    this.#closed = true
    const machine = this.#machine
    this.#machine = undefined
    // Others of this machine may live on: it stays, and without them is soon found to be gone.
    machine?.membership.stopHeartbeat()
    this.#say({ verb: 'resign' })
  }
  async #lease(message: Extract<Lend, { verb: 'lease' }>): Promise<void> {
    const { id, kind, machine, number, ms } = message
    await this.#join(machine)
    const asked = this.#now()
    const amounts = { limit: BigInt(message.limit), least: BigInt(message.least) }
    const wanted = { kind, machine, number, ms, ...amounts, debt: BigInt(message.debt) }
    const rows = await this.#options.database.write(lease(wanted)).catch(thrown => {
      if ((thrown as { code?: string }).code === MACHINE_GONE) this.#gone(machine)
      throw thrown
    })
    const told = rows.map(([row]) => row).filter((row): row is Row => row !== undefined)
    const [row, slice] = told
    if (!row) throw new Error('the store says nothing of a number')
    const { granted, taken, began, machines } = row
    this.#say({
      ...{ verb: 'leased', id, granted: String(granted), began: String(began), asked },
      ...{ left: String(BigInt(message.limit) - BigInt(String(taken))), ms: Number(row.ms) },
      machines: Number(machines),
      ...(slice && { slice: String(slice.amount) }),
    })
  }
  async #giveBack(message: Extract<Lend, { verb: 'unlease' }>): Promise<void> {
    const { kind, machine, number, amount, began } = message
    const units = BigInt(amount)
    const window = kind === 'window'
    const statement = window ? giveBack(number, began, units) : keepOnly(machine, number, units)
    await this.#options.database.write([statement])
  }
  /** What others were refused lately. */
  async #look({ since }: Extract<Lend, { verb: 'look' }>): Promise<void> {
    const { database } = this.#options
    await this.prepare()
    const rows = await database.read(SHORT, [BigInt(since)])
    const numbers = rows.map(({ id }) => String(id))
    if (numbers.length > 0) this.#say({ verb: 'short', numbers, at: String(rows[0]?.short) })
    if (this.#now() < this.#cleaned + CLEANING) return
    this.#cleaned = this.#now()
    await database.write([clean()])
  }
  /** From now on it is alive as long as this process is, or another of this machine. */
  async #join(name: string): Promise<void> {
    await this.prepare()
    if (this.#machine?.name !== name) {
      this.#machine?.membership.stopHeartbeat()
      const { database, log, timeouts } = this.#options
      const given = { database, log, name, ...(timeouts && { timeouts }) }
      const membership = createMembership(given)
      membership.listen('machine', { onExpelled: () => this.#gone(name) })
      this.#machine = { name, membership }
    }
    await this.#machine?.membership.name()
  }
  #gone(machine: string): void {
    if (this.#machine?.name !== machine) return
    this.#machine.membership.stopHeartbeat()
    this.#machine = undefined
    this.#say({ verb: 'gone', machine })
  }
  /** The tables; asked for again if the store was away. */
  prepare(): Promise<void> {
    this.#tables ??= this.#make().catch(thrown => {
      this.#tables = undefined
      throw thrown
    })
    return this.#tables
  }
  async #make(): Promise<void> {
    const { database } = this.#options
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('allowance', LEASE_TABLES)
  }
  #say(message: Told): void {
    this.#options.channel.send({ type: 'allowance', ...message } satisfies Leased)
  }
}
type Told = Leased extends infer Each ? (Each extends Leased ? Omit<Each, 'type'> : never) : never
