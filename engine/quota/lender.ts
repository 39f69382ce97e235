/** Store access of shared counters, in a worker: leases units from the store on request of the
 *  counter owner, and sends the heartbeat of the machine. */
import type { Database, Log, Migration, Row } from '../plugin.ts'
import { monotonic } from '../store/clock.ts'
import { createMembership, MEMBERSHIP_TABLES, type OwnMembership } from '../store/membership.ts'
import type { Timeouts } from '../store/timeouts.ts'
import type { Channel, StoreOperation, StoreResult } from './channel.ts'
import {
  deleteEnded,
  LEASE_TABLES,
  leaseUnits,
  MACHINE_GONE,
  READ_REFUSALS,
  returnToWindow,
  shrinkSlice,
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
/** ms between clean-ups of ended counters. */
const CLEANUP_INTERVAL = 60_000

export const createLender = (options: LenderOptions): Lender => {
  const lender = new StoreLender(options)
  // In advance, so that the first caller need not wait.
  lender.prepare().catch(() => {})
  options.channel.on(raw => {
    const message = raw as StoreOperation
    if (message?.type === 'allowance') void lender.onMessage(message)
  })
  return lender
}

class StoreLender implements Lender {
  readonly #options: LenderOptions
  readonly #now: () => number
  #tables: Promise<void> | undefined
  #machine: { readonly name: string; readonly membership: OwnMembership } | undefined
  #lastCleanup: number
  #closed = false

  constructor(options: LenderOptions) {
    this.#options = options
    this.#now = options.now ?? monotonic
    this.#lastCleanup = this.#now()
  }
  async onMessage(message: StoreOperation): Promise<void> {
    if (this.#closed) return
    try {
      if (message.verb === 'lease') await this.#lease(message)
      else if (message.verb === 'join') await this.#join(message.machine)
      else if (message.verb === 'unlease') await this.#returnUnits(message)
      else if (message.verb === 'check-refusals') await this.#checkRefusals(message)
    } catch (error) {
      if (message.verb === 'lease') this.#send({ verb: 'leased', id: message.id })
      this.#options.log.debug({ error }, 'the store did not respond for a shared limit')
    }
  }
  close(): void {
    this.#closed = true
    const machine = this.#machine
    this.#machine = undefined
    // Other workers may continue for this machine; without them, peers soon find it dead.
    machine?.membership.stopHeartbeat()
    this.#send({ verb: 'resign' })
  }
  async #lease(message: Extract<StoreOperation, { verb: 'lease' }>): Promise<void> {
    const { id, kind, machine, number, ms } = message
    await this.#join(machine)
    const requestedAt = this.#now()
    const amounts = { limit: BigInt(message.limit), least: BigInt(message.least) }
    const terms = { kind, machine, number, ms, ...amounts, debt: BigInt(message.debt) }
    const rows = await this.#options.database.write(leaseUnits(terms)).catch(error => {
      if ((error as { code?: string }).code === MACHINE_GONE) this.#onExpelled(machine)
      throw error
    })
    const firstRows = rows.map(([row]) => row).filter((row): row is Row => row !== undefined)
    const [row, slice] = firstRows
    if (!row) throw new Error('the store returned no row for a counter')
    this.#send({
      verb: 'leased',
      id,
      units: String(row.granted),
      windowStart: String(row.began),
      requestedAt,
      remaining: String(BigInt(message.limit) - BigInt(String(row.taken))),
      ms: Number(row.ms),
      machines: Number(row.machines),
      ...(slice && { slice: String(slice.amount) }),
    })
  }
  async #returnUnits(message: Extract<StoreOperation, { verb: 'unlease' }>): Promise<void> {
    const { kind, machine, number, amount, windowStart } = message
    const units = BigInt(amount)
    const statement =
      kind === 'window'
        ? returnToWindow(number, windowStart, units)
        : shrinkSlice(machine, number, units)
    await this.#options.database.write([statement])
  }
  /** Reports counters for which machines were refused recently. */
  async #checkRefusals({
    since,
  }: Extract<StoreOperation, { verb: 'check-refusals' }>): Promise<void> {
    const { database } = this.#options
    await this.prepare()
    const rows = await database.read(READ_REFUSALS, [BigInt(since)])
    const numbers = rows.map(({ id }) => String(id))
    if (numbers.length > 0) this.#send({ verb: 'refusals', numbers, at: String(rows[0]?.short) })
    if (this.#now() < this.#lastCleanup + CLEANUP_INTERVAL) return
    this.#lastCleanup = this.#now()
    await database.write([deleteEnded()])
  }
  /** Registers the machine; it stays alive as long as one of its workers sends its heartbeat. */
  async #join(name: string): Promise<void> {
    await this.prepare()
    if (this.#machine?.name !== name) {
      this.#machine?.membership.stopHeartbeat()
      const { database, log, timeouts } = this.#options
      const options = { database, log, name, ...(timeouts && { timeouts }) }
      const membership = createMembership(options)
      membership.listen('machine', { onExpelled: () => this.#onExpelled(name) })
      this.#machine = { name, membership }
    }
    await this.#machine?.membership.name()
  }
  #onExpelled(machine: string): void {
    if (this.#machine?.name !== machine) return
    this.#machine.membership.stopHeartbeat()
    this.#machine = undefined
    this.#send({ verb: 'expelled', machine })
  }
  /** Creates the tables; tries again after a failure. */
  prepare(): Promise<void> {
    this.#tables ??= this.#createTables().catch(error => {
      this.#tables = undefined
      throw error
    })
    return this.#tables
  }
  async #createTables(): Promise<void> {
    const { database } = this.#options
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('allowance', LEASE_TABLES)
  }
  #send(message: UntypedResult): void {
    this.#options.channel.send({ type: 'allowance', ...message } satisfies StoreResult)
  }
}
type UntypedResult = StoreResult extends infer Each
  ? Each extends StoreResult
    ? Omit<Each, 'type'>
    : never
  : never
