/** This process as a client of PostgreSQL: a row under its key, a connection that reconnects by
 *  itself, an advisory lock on the key while the process lives, and its on-crash statements. */
import type { Statement } from '../../plugin.ts'
import { newProcessKey } from '../process-key.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { type EncodedStatement, encodeStatement, rowFromWire, rowToWire } from '../values.ts'
import { isPermanent } from './error-codes.ts'
import type { NewestTimeline } from './servers.ts'
import { type Query, Session } from './session.ts'

export interface ClientOptions {
  readonly url: string
  /** ms. */
  readonly writeTimeout: number
  readonly newest: NewestTimeline
  /** Called after each connect. `outcomes`: of the last commit that was tried; undefined if it was
   *  not committed, 'forgotten' if its result is no longer known. */
  onConnected(session: Session, outcomes: readonly Outcome[] | undefined | 'forgotten'): void
}
const BACK_OFF = { first: 20, most: 250 }

/** Waits for a commit that is still running on a lost connection, and voids one that has not been
 *  sealed. */
const REGISTER = `INSERT INTO tollgate_clients AS c (client, number) VALUES ($1, $2)
  ON CONFLICT (client) DO UPDATE SET gone = NULL, number = $2,
    outcomes = CASE WHEN c.number = $2 THEN c.outcomes END
  RETURNING outcomes, xmax = 0 AS fresh`
// Fails, and with it the transaction, if another connection of this process has voided the commit.
const SEAL = `WITH sealed AS (UPDATE tollgate_clients SET number = $2, outcomes = $3
  WHERE client = $1 AND number = $2::bigint - 1 RETURNING 1) SELECT 1 / (SELECT count(*) FROM sealed)`
const CLEAR_ALL = 'DELETE FROM tollgate_wills WHERE client = $1'
const CLEAR_CRASH_STATEMENTS = 'DELETE FROM tollgate_wills WHERE client = $1 AND name = ANY($2)'
const SET_CRASH_STATEMENTS = `INSERT INTO tollgate_wills (client, name, statements)
  SELECT $1, * FROM unnest($2::text[], $3::text[])
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const FORGET = 'DELETE FROM tollgate_clients WHERE client = $1'

export class PostgresClient {
  readonly #options: ClientOptions
  readonly key = newProcessKey()
  readonly #firstConnection = Promise.withResolvers<void>()
  readonly #crashStatements = new Map<string, readonly EncodedStatement[]>()
  #changedNames = new Set<string>()
  /** `#mayHaveStored`: the store may have on-crash statements. `#mustResend`: it is unknown which,
   *  so all are sent again. */
  #mayHaveStored = false
  #mustResend = false
  #number = 0
  #closed = false
  session: Session | undefined
  /** Time of the disconnect (performance.now); undefined while connected. */
  downSince: number | undefined = performance.now()
  /** Why the connection is down. */
  cause: unknown

  constructor(options: ClientOptions) {
    this.#options = options
    this.#firstConnection.promise.catch(() => {})
    void this.#connectWithRetry()
  }
  /** Resolves at the first connection; rejects after `within` ms. */
  async open(within: number): Promise<void> {
    const timer = setTimeout(
      () => this.#firstConnection.reject(this.cause ?? new Error('no answer')),
      within,
    )
    await this.#firstConnection.promise.finally(() => clearTimeout(timer))
  }
  setCrashStatements(name: string, statements: readonly Statement[]): void {
    if (statements.length > 0) this.#crashStatements.set(name, statements.map(encodeStatement))
    else this.#crashStatements.delete(name)
    this.#changedNames.add(name)
  }
  get hasChanges(): boolean {
    return this.#mustResend || this.#changedNames.size > 0
  }
  /** Statements that store the changed on-crash statements, or all of them. */
  takeCrashStatements(): readonly Query[] {
    const sendsAll = this.#mustResend
    const names = sendsAll ? [...this.#crashStatements.keys()] : [...this.#changedNames]
    this.#changedNames = new Set()
    this.#mustResend = false
    this.#mayHaveStored ||= names.length > 0
    const setNames = names.filter(name => this.#crashStatements.has(name))
    const clearedNames = names.filter(name => !this.#crashStatements.has(name))
    const texts = setNames.map(name => JSON.stringify(this.#crashStatements.get(name)))
    return [
      ...(sendsAll ? [{ text: CLEAR_ALL, values: [this.key] }] : []),
      ...(setNames.length > 0
        ? [
            {
              name: 'set crash statements',
              text: SET_CRASH_STATEMENTS,
              values: [this.key, setNames, texts],
            },
          ]
        : []),
      ...(clearedNames.length > 0
        ? [
            {
              name: 'clear crash statements',
              text: CLEAR_CRASH_STATEMENTS,
              values: [this.key, clearedNames],
            },
          ]
        : []),
    ]
  }
  /** The on-crash statements were rolled back with their group, or the result is unknown. */
  resendCrashStatements(): void {
    this.#mustResend = this.#mayHaveStored
  }
  /** Last statement of a commit: its row tells later whether the commit was applied. */
  sealQuery(outcomes: readonly Outcome[]): Query {
    const values = [this.key, ++this.#number, outcomesToText(outcomes)]
    return { name: 'seal', text: SEAL, values }
  }
  async close(): Promise<void> {
    this.#closed = true
    const { session } = this
    if (!session) return
    const values = [this.key]
    const cleanup = [CLEAR_ALL, FORGET].map(text => ({ text, values }))
    await session.pipeline(cleanup, this.#options.writeTimeout).catch(() => {})
    await session.end()
  }

  async #connectWithRetry(): Promise<void> {
    for (let delay = BACK_OFF.first; !this.#closed; delay = Math.min(delay * 2, BACK_OFF.most)) {
      try {
        return await this.#connect()
      } catch (error) {
        this.cause = error
        if (isPermanent(error)) this.#firstConnection.reject(error)
      }
      await new Promise(resolve => setTimeout(resolve, delay).unref())
    }
  }
  async #connect(): Promise<void> {
    const { url, writeTimeout, newest, onConnected } = this.#options
    const settings = {
      // A row that another process has locked must not delay the group for long.
      lock_timeout: Math.ceil(writeTimeout / 5),
      statement_timeout: Math.ceil(writeTimeout / 2),
      // A process that was suspended in a transaction must not keep its rows locked.
      idle_in_transaction_session_timeout: writeTimeout * 2,
    }
    const session = await Session.open({ url, within: writeTimeout, settings, newest })
    const outcomes = await this.#register(session).catch(error => {
      session.drop()
      throw error
    })
    if (this.#closed) return session.end()
    session.onLost = () => this.#onLost()
    if (session.isLost) return this.#onLost()
    this.session = session
    this.downSince = undefined
    this.cause = undefined
    this.#firstConnection.resolve()
    onConnected(session, outcomes)
  }
  #onLost(): void {
    this.session = undefined
    this.downSince ??= performance.now()
    if (!this.#closed) void this.#connectWithRetry()
  }
  async #register(session: Session): Promise<readonly Outcome[] | undefined | 'forgotten'> {
    const { key } = this
    const results = await session.pipeline(
      [
        { text: 'SELECT pg_advisory_lock_shared($1)', values: [key] },
        { text: REGISTER, values: [key, this.#number] },
      ],
      this.#options.writeTimeout,
    )
    for (const each of results) if ('error' in each) throw each.error
    this.resendCrashStatements()
    const [row] = results[1] && 'rows' in results[1] ? results[1].rows : []
    if (row?.fresh === 1 && this.#number > 0) return 'forgotten'
    return typeof row?.outcomes === 'string' ? outcomesFromText(row.outcomes) : undefined
  }
}

const outcomesToText = (outcomes: readonly Outcome[]): string =>
  JSON.stringify(
    outcomes.map(outcome =>
      'rows' in outcome ? { rows: outcome.rows.map(rows => rows.map(rowToWire)) } : outcome,
    ),
  )
const outcomesFromText = (text: string): readonly Outcome[] =>
  JSON.parse(text).map((outcome: { rows?: Parameters<typeof rowFromWire>[0][][] }) =>
    outcome.rows ? { rows: outcome.rows.map(rows => rows.map(rowFromWire)) } : outcome,
  )
