/** A process's side of the store: sends lists to the writer, waits for their answers, sends again what was not answered. */
import type { Migration, Row, Statement } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { Waiting } from '../pending-lists.ts'
import { toFault } from '../refused-list.ts'
import { Repeats } from '../repeated-lists.ts'
import { rowFromWire, type Spelled, spell } from '../values.ts'
import type { Heard, Said, WireAnswer } from './frames.ts'
import { Texts } from './statement-encoder.ts'
import { type Line, openLine } from './writer-connection.ts'

// Beyond this the store is not slow but stuck, and waiting would only fill memory.
const MOST_PENDING = 10_000

type Rows = readonly (readonly Row[])[]
const NO_ROWS: readonly Row[] = []
interface Pending {
  readonly number: number
  readonly statements: readonly Statement[]
  /** As it goes out on this connection, until it has gone. */
  spelt: string | undefined
  /** In place of statements. An index over many rows takes its time, so it has no `until`. */
  readonly migration?: readonly [owner: string, migrations: readonly Migration[]]
  readonly until: number
  readonly answer: PromiseWithResolvers<Rows>
  sent: boolean
  again: boolean
}

export class Link {
  readonly client: string
  readonly #line: Line
  readonly #patience: number
  readonly #opened = Promise.withResolvers<void>()
  readonly #pending = new Waiting<Pending>()
  #unsent: Pending[] = []
  readonly #repeats = new Repeats()
  readonly #wills = new Map<string, readonly Spelled[]>()
  readonly #newWills = new Set<string>()
  #texts = new Texts()
  #last = 0
  #scheduled = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  /** `key`: of this process, unique in the store. */
  constructor(socket: string, patience: number, key: bigint) {
    this.client = String(key)
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
    if (before) return before.answer.promise
    if (this.#refuses()) return Promise.reject(fault('STORE_UNAVAILABLE'))
    const again = number !== undefined
    try {
      const own = number ?? this.#last + 1
      const spelt = this.#texts.spell(own, again, statements)
      this.#last = Math.max(this.#last, own)
      const until = performance.now() + this.#patience
      this.#timer ??= setTimeout(() => this.#expire(), this.#patience)
      return this.#add({ number: own, statements, spelt, until, again })
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
    const until = Number.POSITIVE_INFINITY
    await this.#add({ number, statements: [], spelt: undefined, migration, until, again: false })
  }
  /** Waits for what was written, then takes leave: no will is applied. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#pending.values().map(({ answer }) => answer.promise))
    this.#closed = true
    clearTimeout(this.#timer)
    this.#line.say('{"bye":true}')
    await this.#line.close()
  }

  #refuses(): boolean {
    const { downSince } = this.#line
    const away = downSince !== undefined && performance.now() - downSince > this.#patience
    return this.#closed || away || this.#pending.size >= MOST_PENDING
  }
  #add(list: Omit<Pending, 'answer' | 'sent'>): Promise<Rows> {
    const pending = { ...list, answer: Promise.withResolvers<Rows>(), sent: false }
    this.#pending.set(list.number, pending)
    this.#unsent.push(pending)
    this.#schedule()
    return pending.answer.promise
  }
  /** What one turn of the loop wrote goes in one frame. */
  #schedule(): void {
    if (!this.#scheduled) setImmediate(this.#send)
    this.#scheduled = true
  }
  readonly #send = (): void => {
    this.#scheduled = false
    if (this.#line.up) this.#line.say(this.#take(undefined))
  }
  /** As a frame's text: lists are spelt already, everything else is rare. */
  #take(hello: string | undefined): string {
    const unsent = this.#unsent.filter(list => this.#pending.get(list.number) === list)
    this.#unsent = []
    const lists: string[] = []
    const migrations: (readonly [number, string, readonly Migration[]])[] = []
    for (const list of unsent)
      if (list.migration) migrations.push([list.number, ...list.migration])
      else lists.push(this.#spell(list))
    const oldest = this.#pending.oldest(this.#last + 1)
    const forget = this.#repeats.forgettable(oldest, performance.now())
    const texts = this.#texts.untold()
    const rare: Said = {
      ...(hello !== undefined && { hello }),
      ...(texts.length > 0 && { texts }),
      ...(migrations.length > 0 && { migrations }),
      ...(this.#newWills.size > 0 && { wills: this.#untoldWills() }),
      ...(forget && { forget }),
    }
    const said = JSON.stringify(rare)
    return `{"lists":[${lists.join()}]${said === '{}' ? '}' : `,${said.slice(1)}`}`
  }
  #untoldWills(): NonNullable<Said['wills']> {
    const names = [...this.#newWills]
    this.#newWills.clear()
    return names.map(name => [name, ...(this.#wills.get(name) ?? [])] as const)
  }
  #spell(list: Pending): string {
    const spelt = list.spelt ?? this.#texts.spell(list.number, list.again, list.statements)
    list.sent = true
    list.spelt = undefined
    return spelt
  }
  /** A writer that has not met us: texts and wills anew, and every list that was not answered. */
  #greet(): string {
    this.#texts = new Texts()
    for (const name of this.#wills.keys()) this.#newWills.add(name)
    this.#unsent = [...this.#pending.values()]
    for (const list of this.#unsent) {
      list.again ||= list.sent
      list.spelt = undefined
    }
    return this.#take(this.client)
  }

  #heard({ welcome, done, answers }: Heard): void {
    if (welcome) this.#opened.resolve()
    for (const number of done ?? []) this.#settle([number])
    for (const answer of answers ?? []) this.#settle(answer)
  }
  #settle([number, rows, refused]: WireAnswer): void {
    const list = this.#pending.get(number)
    // Its caller has already been told STORE_UNKNOWN, and may come back with it.
    if (!list) return
    this.#pending.delete(number)
    if (refused?.kind === 'unknown') this.#repeats.hold(number, list.statements, performance.now())
    else this.#repeats.settle(number, list.statements)
    if (refused) list.answer.reject(toFault(refused, list.statements))
    else
      list.answer.resolve(
        rows?.map(found => found.map(rowFromWire)) ?? list.statements.map(() => NO_ROWS),
      )
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
      list.answer.reject(fault(list.sent ? 'STORE_UNKNOWN' : 'STORE_UNAVAILABLE'))
    }
    const more = Number.isFinite(next)
    this.#timer = more ? setTimeout(() => this.#expire(), next - now) : undefined
  }
}
