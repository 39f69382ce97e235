/** A process's side of the store: sends lists to the writer, waits for their answers, sends again what was not answered. */
import { randomBytes } from 'node:crypto'
import type { Migration, Statement } from '../plugin.ts'
import { type Rows, toFault, toRows } from './answer.ts'
import { fault } from './faults.ts'
import type { Heard, Said, WireAnswer, WireList } from './frames.ts'
import { type Line, openLine } from './line.ts'
import { Repeats } from './repeats.ts'
import { Texts } from './texts.ts'
import { toWire, type Wire } from './values.ts'

// Beyond this the store is not slow but stuck, and waiting would only fill memory.
const MOST_PENDING = 10_000

interface Pending {
  readonly number: number
  readonly statements: readonly Statement[]
  readonly values: readonly (readonly Wire[])[]
  readonly since: number
  readonly promise: Promise<Rows>
  readonly resolve: (rows: Rows) => void
  readonly reject: (error: Error) => void
  sent: boolean
  again: boolean
}
interface Migrating {
  readonly said: NonNullable<Said['migrate']>
  readonly done: PromiseWithResolvers<void>
}

export class Link {
  readonly #client = randomBytes(12).toString('base64url')
  readonly #line: Line
  readonly #patience: number
  readonly #opened = Promise.withResolvers<void>()
  /** By number; in the order they were written, so the first has waited longest. */
  readonly #pending = new Map<number, Pending>()
  #unsent: Pending[] = []
  readonly #repeats = new Repeats()
  readonly #migrating = new Map<number, Migrating>()
  readonly #wills = new Map<string, readonly Statement[]>()
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
      return this.#add(statements, number)
    } catch (error) {
      return Promise.reject(error)
    }
  }
  /** What the writer applies if this process dies; the last one of a name counts, an empty one withdraws it. */
  will(name: string, statements: readonly Statement[]): void {
    if (statements.length > 0) this.#wills.set(name, statements)
    else this.#wills.delete(name)
    this.#newWills.add(name)
    this.#schedule()
  }
  migrate(owner: string, migrations: readonly Migration[]): Promise<void> {
    const number = ++this.#last
    const migrating = {
      said: [number, owner, migrations],
      done: Promise.withResolvers<void>(),
    } as const
    this.#migrating.set(number, migrating)
    this.#line.say({ migrate: migrating.said })
    return migrating.done.promise
  }
  /** Waits for what was written, then takes leave: no will is applied. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise))
    this.#closed = true
    clearTimeout(this.#timer)
    this.#line.say({ bye: true })
    await this.#line.close()
    for (const { done } of this.#migrating.values()) done.reject(fault('STORE_UNAVAILABLE'))
  }

  #refuses(): boolean {
    const { downSince } = this.#line
    const away = downSince !== undefined && performance.now() - downSince > this.#patience
    return this.#closed || away || this.#pending.size >= MOST_PENDING
  }
  #add(statements: readonly Statement[], repeated: number | undefined): Promise<Rows> {
    const list: Pending = {
      number: repeated ?? ++this.#last,
      statements,
      values: statements.map(statement => statement.values.map(toWire)),
      since: performance.now(),
      ...Promise.withResolvers<Rows>(),
      sent: false,
      again: repeated !== undefined,
    }
    this.#pending.set(list.number, list)
    this.#unsent.push(list)
    this.#schedule()
    this.#timer ??= setTimeout(() => this.#expire(), this.#patience)
    return list.promise
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
    const lists = unsent.map(list => this.#encode(list))
    const wills = Array.from(this.#newWills, name => {
      const statements = this.#wills.get(name) ?? []
      return [name, ...statements.map(statement => this.#texts.statement(statement))] as const
    })
    this.#newWills.clear()
    const [oldest = this.#last + 1] = this.#pending.keys()
    const forget = this.#repeats.forgettable(oldest, performance.now())
    return { texts: this.#texts.untold(), lists, wills, ...(forget && { forget }) }
  }
  #encode(list: Pending): WireList {
    const { number, again, statements, values } = list
    list.sent = true
    const encoded = statements.map((each, at) => this.#texts.statement(each, values[at]))
    return [number, again ? 1 : 0, ...encoded]
  }
  /** A writer that has not met us: texts and wills anew, and every list that was not answered. */
  #greet(): Said {
    this.#texts = new Texts()
    for (const name of this.#wills.keys()) this.#newWills.add(name)
    this.#unsent = [...this.#pending.values()]
    for (const list of this.#unsent) list.again ||= list.sent
    for (const { said } of this.#migrating.values())
      setImmediate(() => this.#line.say({ migrate: said }))
    return { hello: this.#client, ...this.#take() }
  }

  #heard({ welcome, answers, migrated }: Heard): void {
    if (welcome) this.#opened.resolve()
    for (const answer of answers ?? []) this.#settle(answer)
    if (!migrated) return
    const [number, failure] = migrated
    const migrating = this.#migrating.get(number)
    this.#migrating.delete(number)
    if (!failure) migrating?.done.resolve()
    else
      migrating?.done.reject(fault('STORE_MIGRATION', [failure[0], migrating.said[1], failure[1]]))
  }
  #settle([number, rows, refused]: WireAnswer): void {
    const list = this.#pending.get(number)
    // Its caller has already been told STORE_UNKNOWN, and may come back with it.
    if (!list) return
    this.#pending.delete(number)
    if (refused?.kind === 'unknown') this.#repeats.hold(number, list.statements, performance.now())
    else this.#repeats.settle(number, list.statements)
    if (refused) list.reject(toFault(refused, list.statements))
    else list.resolve(toRows(rows, list.statements))
  }
  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const list of this.#pending.values()) {
      const left = list.since + this.#patience - now
      if (left > 0) {
        this.#timer = setTimeout(() => this.#expire(), left)
        return
      }
      this.#pending.delete(list.number)
      // Never sent, never applied. Sent, nobody knows.
      if (list.sent) this.#repeats.hold(list.number, list.statements, now)
      list.reject(fault(list.sent ? 'STORE_UNKNOWN' : 'STORE_UNAVAILABLE'))
    }
  }
}
