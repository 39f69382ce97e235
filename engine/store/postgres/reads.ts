/** The reads of a process: up to `CONNECTIONS` connections, opened on demand. While a read runs,
 *  new connections probe the server, which distinguishes a frozen server from a long read. */
import type { Row, Sql, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import type { DialectCache } from './dialect-cache.ts'
import { isOutdated, unavailableFault } from './error-codes.ts'
import type { NewestTimeline } from './servers.ts'
import { type QueryResult, Session } from './session.ts'

/** How the connections of a process reach the store. */
export interface ConnectionOptions {
  readonly url: string
  /** ms. A server that does not respond for so long counts as unavailable, and a write without a
   *  result is given up. */
  readonly writeTimeout: number
  readonly newest: NewestTimeline
  readonly dialects: DialectCache
}
interface PendingRead {
  readonly sql: Sql
  readonly values: readonly Value[]
  readonly result: PromiseWithResolvers<readonly Row[]>
  timer?: NodeJS.Timeout
}
const CONNECTIONS = 4
const MAX_WAITING = 10_000
/** Statement timeout of a read, ms. */
const READ_TIMEOUT = 30_000

export class Reads {
  readonly #options: ConnectionOptions
  readonly #idle: Session[] = []
  #busy = 0
  #waiting: PendingRead[] = []
  #probe: Promise<boolean> | undefined
  #closed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }
  read(sql: Sql, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(fault('STORE_UNAVAILABLE'))
    }
    const preparedSql = this.#options.dialects.get(sql)
    const problem =
      'problem' in preparedSql
        ? preparedSql.problem
        : parameterError(preparedSql.parameters, values)
    if (problem) return Promise.reject(fault('STORE_STATEMENT', [sql.name, problem]))
    const pending: PendingRead = { sql, values, result: Promise.withResolvers() }
    // Bounds the wait behind long reads.
    pending.timer = setTimeout(() => {
      this.#waiting = this.#waiting.filter(each => each !== pending)
      pending.result.reject(fault('STORE_UNAVAILABLE'))
    }, this.#options.writeTimeout)
    this.#waiting.push(pending)
    this.#startNext()
    return pending.result.promise
  }
  async close(): Promise<void> {
    this.#closed = true
    for (const { result, timer } of this.#waiting) {
      clearTimeout(timer)
      result.reject(fault('STORE_UNAVAILABLE'))
    }
    this.#waiting = []
    await Promise.all(this.#idle.splice(0).map(session => session.end()))
  }

  #startNext(): void {
    if (this.#busy >= CONNECTIONS) return
    const pending = this.#waiting.shift()
    if (!pending) return
    clearTimeout(pending.timer)
    this.#busy++
    void this.#run(pending).finally(() => {
      this.#busy--
      this.#startNext()
    })
  }
  async #run(pending: PendingRead): Promise<void> {
    const { sql, result: done } = pending
    try {
      const result = await this.#query(pending).catch(error => {
        if (error.code === 'STORE_UNAVAILABLE') throw error
        // The server was restarted, or the connection was cut: a read can be repeated.
        return this.#query(pending)
      })
      if (!result || 'rows' in result) return done.resolve(result?.rows ?? [])
      done.reject(fault('STORE_STATEMENT', [sql.name, result.error.message]))
    } catch (error) {
      done.reject(unavailableFault(error))
    }
  }
  async #query({ sql, values }: PendingRead): Promise<QueryResult | undefined> {
    const preparedSql = this.#options.dialects.get(sql)
    if ('problem' in preparedSql) throw new Error(preparedSql.problem)
    const session = this.#takeIdle() ?? (await this.#open())
    const { text, name } = preparedSql
    let isFrozen = false
    const watch = setInterval(async () => {
      isFrozen ||= !(await this.#isResponsive())
      if (isFrozen) session.drop()
    }, this.#options.writeTimeout / 2)
    try {
      const [result] = await session.pipeline([{ text, name, values }], Number.POSITIVE_INFINITY)
      const isPlanOutdated = result && 'error' in result && isOutdated(result.error)
      if (isPlanOutdated) session.drop()
      else this.#release(session)
      if (isPlanOutdated) throw result.error
      return result
    } catch (error) {
      throw isFrozen ? fault('STORE_UNAVAILABLE') : error
    } finally {
      clearInterval(watch)
    }
  }
  #takeIdle(): Session | undefined {
    const session = this.#idle.pop()
    if (!session || !this.#isOutdated(session)) return session
    void session.end()
    return this.#takeIdle()
  }
  /** Whether its server was replaced by another one. */
  #isOutdated({ timeline }: Session): boolean {
    return timeline < this.#options.newest.timeline
  }
  #release(session: Session): void {
    if (this.#closed) void session.end()
    else if (!session.isLost) this.#idle.push(session)
  }
  async #open(): Promise<Session> {
    const { url, writeTimeout, newest } = this.#options
    const settings = { default_transaction_read_only: 'on', statement_timeout: READ_TIMEOUT }
    const session = await Session.open({ url, within: writeTimeout / 2, settings, newest })
    session.onLost = () => {
      const at = this.#idle.indexOf(session)
      if (at >= 0) this.#idle.splice(at, 1)
    }
    return session
  }
  /** Whether the server accepts or refuses a new connection in time. */
  #isResponsive(): Promise<boolean> {
    this.#probe ??= this.#open()
      .then(
        session => session.end().then(() => true),
        // A server that refuses is not frozen.
        error => 'severity' in error,
      )
      .finally(() => {
        this.#probe = undefined
      })
    return this.#probe
  }
}

const parameterError = (parameters: number, values: readonly Value[]): string | undefined =>
  parameters === values.length
    ? undefined
    : `it has ${parameters} parameters, but ${values.length} values`
