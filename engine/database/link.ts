/** A process's side of the store: sends lists to the writer, waits for their answers, sends again what was not answered. */
import { randomBytes } from 'node:crypto'
import type { Migration, Row, Statement } from '../plugin.ts'
import { toFault } from './answer.ts'
import { fault } from './faults.ts'
import type { Heard, Said, WireAnswer, WireList } from './frames.ts'
import { type Line, openLine } from './line.ts'
import { Repeats } from './repeats.ts'
import { Texts } from './texts.ts'
import { rowFromWire, type Spelled, spell, toWire, type Wire } from './values.ts'

// Beyond this the store is not slow but stuck, and waiting would only fill memory.
const MOST_PENDING = 10_000

type Rows = readonly (readonly Row[])[]
interface Pending {
  readonly number: number
  readonly statements: readonly Statement[]
  readonly values: readonly (readonly Wire[])[]
  /** In place of statements. An index over many rows takes its time, so it has no `until`. */
  readonly migration?: readonly [owner: string, migrations: readonly Migration[]]
  readonly until: number
  readonly promise: Promise<Rows>
  readonly resolve: (rows: Rows) => void
  readonly reject: (error: Error) => void
  sent: boolean
  again: boolean
}

export class Link {
  readonly #client = randomBytes(12).toString('base64url')
  readonly #line: Line
  readonly #patience: number
  readonly #opened = Promise.withResolvers<void>()
  /** By number, in the order they were written. */
  readonly #pending = new Map<number, Pending>()
  #unsent: Pending[] = []
  readonly #repeats = new Repeats()
  readonly #wills = new Map<string, readonly Spelled[]>()
  readonly #newWills = new Set<string>()
  #texts = new Texts()
  #last = 0
  #scheduled = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor(socket: string, patience: number) {
    this.#patience = patience
    this.#line = openLine(socket, { greet: () => this.#greet(), heard: said => this.#heard(said) })
  }
  /** Resolves when a writer has answered for the first time. */
  async open(within: number): Promise<void> {
    const late = setTimeout(() => this.#opened.reject(fault('STORE_UNAVAILABLE')), within)
    await this.#opened.promise.finally(() => clearTimeout(late))
  }
  write(statements: readonly Statement[]): Promise<Rows> {
    if (statements.length === 0) return Promise.resolve([])
    const number = this.#repeats.numberOf(statements)
    const before = number === undefined ? undefined : this.#pending.get(number)
    if (before) return before.promise
    if (this.#refuses()) return Promise.reject(fault('STORE_UNAVAILABLE'))
    try {
      const values = statements.map(statement => statement.values.map(toWire))
      const until = performance.now() + this.#patience
      this.#timer ??= setTimeout(() => this.#expire(), this.#patience)
      return this.#add(
        { number: number ?? ++this.#last, statements, values, until },
        number !== undefined,
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }
  /** What the writer applies if this process dies; the last one of a name counts, an empty one withdraws it. */
  will(name: string, statements: readonly Statement[]): void {
    if (statements.length > 0) this.#wills.set(name, statements.map(spell))
    else this.#wills.delete(name)
    this.#newWills.add(name)
    this.#schedule()
  }
  async migrate(owner: string, migrations: readonly Migration[]): Promise<void> {
    const migration = [owner, migrations] as const
    const number = ++this.#last
    await this.#add({
      number,
      statements: [],
      values: [],
      migration,
      until: Number.POSITIVE_INFINITY,
    })
  }
  /** Waits for what was written, then takes leave: no will is applied. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise))
    this.#closed = true
    clearTimeout(this.#timer)
    this.#line.say({ bye: true })
    await this.#line.close()
  }

  #refuses(): boolean {
    const { downSince } = this.#line
    const away = downSince !== undefined && performance.now() - downSince > this.#patience
    return this.#closed || away || this.#pending.size >= MOST_PENDING
  }
  #add(
    list: Omit<Pending, keyof PromiseWithResolvers<Rows> | 'sent' | 'again'>,
    again = false,
  ): Promise<Rows> {
    const pending = { ...list, ...Promise.withResolvers<Rows>(), sent: false, again }
    this.#pending.set(list.number, pending)
    this.#unsent.push(pending)
    this.#schedule()
    return pending.promise
  }
  /** What one turn of the loop wrote goes in one frame. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#line.up) this.#line.say(this.#take())
    })
  }
  #take(): Said {
    const unsent = this.#unsent.filter(list => this.#pending.get(list.number) === list)
    this.#unsent = []
    const lists = unsent.filter(list => !list.migration).map(list => this.#encode(list))
    const migrations = unsent.flatMap(({ number, migration }) =>
      migration ? [[number, ...migration] as const] : [],
    )
    const wills = Array.from(
      this.#newWills,
      name => [name, ...(this.#wills.get(name) ?? [])] as const,
    )
    this.#newWills.clear()
    const [oldest = this.#last + 1] = this.#pending.keys()
    const forget = this.#repeats.forgettable(oldest, performance.now())
    return { texts: this.#texts.untold(), lists, migrations, wills, ...(forget && { forget }) }
  }
  #encode(list: Pending): WireList {
    const { number, again, statements, values } = list
    list.sent = true
    const encoded = statements.map((each, at) => this.#texts.statement(each, values[at] ?? []))
    return [number, again ? 1 : 0, ...encoded]
  }
  /** A writer that has not met us: texts and wills anew, and every list that was not answered. */
  #greet(): Said {
    this.#texts = new Texts()
    for (const name of this.#wills.keys()) this.#newWills.add(name)
    this.#unsent = [...this.#pending.values()]
    for (const list of this.#unsent) list.again ||= list.sent
    return { hello: this.#client, ...this.#take() }
  }

  #heard({ welcome, answers }: Heard): void {
    if (welcome) this.#opened.resolve()
    for (const answer of answers ?? []) this.#settle(answer)
  }
  #settle([number, rows, refused]: WireAnswer): void {
    const list = this.#pending.get(number)
    // Its caller has already been told STORE_UNKNOWN, and may come back with it.
    if (!list) return
    this.#pending.delete(number)
    if (refused?.kind === 'unknown') this.#repeats.hold(number, list.statements, performance.now())
    else this.#repeats.settle(number, list.statements)
    if (refused) list.reject(toFault(refused, list.statements))
    else list.resolve(rows?.map(found => found.map(rowFromWire)) ?? list.statements.map(() => []))
  }
  #expire(): void {
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const list of this.#pending.values()) {
      if (list.until > now) {
        next = Math.min(next, list.until)
        continue
      }
      this.#pending.delete(list.number)
      // Never sent, never applied. Sent, nobody knows.
      if (list.sent) this.#repeats.hold(list.number, list.statements, now)
      list.reject(fault(list.sent ? 'STORE_UNKNOWN' : 'STORE_UNAVAILABLE'))
    }
    const more = Number.isFinite(next)
    this.#timer = more ? setTimeout(() => this.#expire(), next - now) : undefined
  }
}
