/** A process's reads: a few connections, made when they are needed. A long read may take its time; a server that is
 *  frozen is found out by a second question. */
import type { Row, Sql, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import type { Phrases } from './dialect-cache.ts'
import { awayFault, isOutdated } from './refused-statement.ts'
import { type Heard, Session } from './session.ts'

export interface ReadsOptions {
  readonly url: string
  /** ms until a server that does not answer counts as away. */
  readonly patience: number
  readonly phrases: Phrases
}
interface Reading {
  readonly sql: Sql
  readonly values: readonly Value[]
  readonly done: PromiseWithResolvers<readonly Row[]>
  late?: NodeJS.Timeout
}
const CONNECTIONS = 4
const MOST_WAITING = 10_000
/** What one read may take, ms: of the server. */
const LONGEST = 30_000

export class Reads {
  readonly #options: ReadsOptions
  readonly #idle: Session[] = []
  #busy = 0
  #waiting: Reading[] = []
  #probing: Promise<boolean> | undefined
  #closed = false

  constructor(options: ReadsOptions) {
    this.#options = options
  }
  read(sql: Sql, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#closed || this.#waiting.length >= MOST_WAITING) {
      return Promise.reject(fault('STORE_UNAVAILABLE'))
    }
    const phrase = this.#options.phrases.of(sql)
    const wrong = 'wrong' in phrase ? phrase.wrong : miscounted(phrase.parameters, values)
    if (wrong) return Promise.reject(fault('STORE_STATEMENT', [sql.name, wrong]))
    const reading: Reading = { sql, values, done: Promise.withResolvers() }
    // Nobody waits for ever behind four long reads.
    reading.late = setTimeout(() => {
      this.#waiting = this.#waiting.filter(each => each !== reading)
      reading.done.reject(fault('STORE_UNAVAILABLE'))
    }, this.#options.patience)
    this.#waiting.push(reading)
    this.#next()
    return reading.done.promise
  }
  async close(): Promise<void> {
    this.#closed = true
    for (const { done, late } of this.#waiting) {
      clearTimeout(late)
      done.reject(fault('STORE_UNAVAILABLE'))
    }
    this.#waiting = []
    await Promise.all(this.#idle.splice(0).map(session => session.end()))
  }

  #next(): void {
    if (this.#busy >= CONNECTIONS) return
    const reading = this.#waiting.shift()
    if (!reading) return
    clearTimeout(reading.late)
    this.#busy++
    void this.#answer(reading).finally(() => {
      this.#busy--
      this.#next()
    })
  }
  async #answer(reading: Reading): Promise<void> {
    const { sql, done } = reading
    try {
      const heard = await this.#ask(reading).catch(error => {
        if (error.code === 'STORE_UNAVAILABLE') throw error
        // The server was started again, or a connection was cut: a read may be asked twice.
        return this.#ask(reading)
      })
      if (!heard || 'rows' in heard) return done.resolve(heard?.rows ?? [])
      done.reject(fault('STORE_STATEMENT', [sql.name, heard.error.message]))
    } catch (error) {
      done.reject(awayFault(error))
    }
  }
  async #ask({ sql, values }: Reading): Promise<Heard | undefined> {
    const phrase = this.#options.phrases.of(sql)
    if ('wrong' in phrase) throw new Error(phrase.wrong)
    const session = this.#idle.pop() ?? (await this.#open())
    const { text, name } = phrase
    let frozen = false
    const watch = setInterval(async () => {
      frozen ||= !(await this.#answers())
      if (frozen) session.drop()
    }, this.#options.patience / 2)
    try {
      const [heard] = await session.flight([{ text, name, values }], Number.POSITIVE_INFINITY)
      const outdated = heard && 'error' in heard && isOutdated(heard.error)
      if (outdated) session.drop()
      else this.#release(session)
      if (outdated) throw heard.error
      return heard
    } catch (error) {
      throw frozen ? fault('STORE_UNAVAILABLE') : error
    } finally {
      clearInterval(watch)
    }
  }
  #release(session: Session): void {
    if (this.#closed) void session.end()
    else if (!session.lost) this.#idle.push(session)
  }
  async #open(): Promise<Session> {
    const { url, patience } = this.#options
    const settings = { default_transaction_read_only: 'on', statement_timeout: LONGEST }
    const session = await Session.open({ url, within: patience / 2, settings })
    session.onLost = () => {
      const at = this.#idle.indexOf(session)
      if (at >= 0) this.#idle.splice(at, 1)
    }
    return session
  }
  /** Whether the server greets anybody at all at present. */
  #answers(): Promise<boolean> {
    this.#probing ??= this.#open()
      .then(
        session => session.end().then(() => true),
        // It may refuse: who refuses is awake.
        error => 'severity' in error,
      )
      .finally(() => {
        this.#probing = undefined
      })
    return this.#probing
  }
}

const miscounted = (parameters: number, values: readonly Value[]): string | undefined =>
  parameters === values.length
    ? undefined
    : `it has ${parameters} parameters, and ${values.length} values were given`
