/** This process as the store knows it: a row under a key of its own, a connection that comes back by itself,
 *  a lock on that key for as long as it lives, and its wills. */
import type { Statement } from '../../plugin.ts'
import { newProcessKey } from '../process-key.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { rowFromWire, rowToWire, type Spelled, spell } from '../values.ts'
import { isLasting } from './refused-statement.ts'
import { Session, type Told } from './session.ts'

export interface ClientOptions {
  readonly url: string
  /** ms. */
  readonly patience: number
  /** Connected, for the first time or again. `outcomes`: of the last commit that was tried; undefined if it came to
   *  nothing, 'forgotten' if nobody can tell any more. */
  came(session: Session, outcomes: readonly Outcome[] | undefined | 'forgotten'): void
}
const BACK_OFF = { first: 20, most: 250 }

/** Waits for a commit that is still under way on a connection we lost, and voids one that has not come so far. */
const REGISTER = `INSERT INTO tollgate_clients AS c (client, number) VALUES ($1, $2)
  ON CONFLICT (client) DO UPDATE SET gone = NULL, number = $2,
    outcomes = CASE WHEN c.number = $2 THEN c.outcomes END
  RETURNING outcomes, xmax = 0 AS fresh`
// Fails, and with it the whole transaction, if another connection of ours has voided this commit.
const SEAL = `WITH sealed AS (UPDATE tollgate_clients SET number = $2, outcomes = $3
  WHERE client = $1 AND number = $2::bigint - 1 RETURNING 1) SELECT 1 / (SELECT count(*) FROM sealed)`
const WITHDRAW_ALL = 'DELETE FROM tollgate_wills WHERE client = $1'
const WITHDRAW = 'DELETE FROM tollgate_wills WHERE client = $1 AND name = ANY($2)'
const WILL = `INSERT INTO tollgate_wills (client, name, statements)
  SELECT $1, * FROM unnest($2::text[], $3::text[])
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const FORGET = 'DELETE FROM tollgate_clients WHERE client = $1'

export class Client {
  readonly #options: ClientOptions
  readonly key = newProcessKey()
  readonly #opened = Promise.withResolvers<void>()
  readonly #wills = new Map<string, readonly Spelled[]>()
  #newWills = new Set<string>()
  /** Whether the store may have some; and whether nobody knows which, so that all are said again. */
  #said = false
  #anew = false
  #number = 0
  #closed = false
  session: Session | undefined
  /** By the monotonic clock. */
  downSince: number | undefined = performance.now()
  /** Why it is down. */
  cause: unknown

  constructor(options: ClientOptions) {
    this.#options = options
    this.#opened.promise.catch(() => {})
    void this.#dial()
  }
  /** Resolves when the store has answered for the first time. */
  async open(within: number): Promise<void> {
    const late = setTimeout(() => this.#opened.reject(this.cause ?? new Error('no answer')), within)
    await this.#opened.promise.finally(() => clearTimeout(late))
  }
  will(name: string, statements: readonly Statement[]): void {
    if (statements.length > 0) this.#wills.set(name, statements.map(spell))
    else this.#wills.delete(name)
    this.#newWills.add(name)
  }
  get hasNews(): boolean {
    return this.#anew || this.#newWills.size > 0
  }
  /** What changed of its wills, or all of them: in one transaction with those that they replace. */
  takeWills(): readonly Told[] {
    const anew = this.#anew
    const names = anew ? [...this.#wills.keys()] : [...this.#newWills]
    this.#newWills = new Set()
    this.#anew = false
    this.#said ||= names.length > 0
    const said = names.filter(name => this.#wills.has(name))
    const gone = names.filter(name => !this.#wills.has(name))
    const texts = said.map(name => JSON.stringify(this.#wills.get(name)))
    return [
      ...(anew ? [{ text: WITHDRAW_ALL, values: [this.key] }] : []),
      ...(said.length > 0 ? [{ name: 'will', text: WILL, values: [this.key, said, texts] }] : []),
      ...(gone.length > 0 ? [{ name: 'withdraw', text: WITHDRAW, values: [this.key, gone] }] : []),
    ]
  }
  /** The wills were taken back with their group, or nobody knows. */
  repeatWills(): void {
    this.#anew = this.#said
  }
  /** The end of a commit: whether this row is there decides what became of it. */
  seal(outcomes: readonly Outcome[]): Told {
    const values = [this.key, ++this.#number, outcomesToText(outcomes)]
    return { name: 'seal', text: SEAL, values }
  }
  async close(): Promise<void> {
    this.#closed = true
    const { session } = this
    if (!session) return
    const values = [this.key]
    const bye = [WITHDRAW_ALL, FORGET].map(text => ({ text, values }))
    await session.flight(bye, this.#options.patience).catch(() => {})
    await session.end()
  }

  async #dial(): Promise<void> {
    for (let delay = BACK_OFF.first; !this.#closed; delay = Math.min(delay * 2, BACK_OFF.most)) {
      try {
        return await this.#connect()
      } catch (error) {
        this.cause = error
        if (isLasting(error)) this.#opened.reject(error)
      }
      await new Promise(resolve => setTimeout(resolve, delay).unref())
    }
  }
  async #connect(): Promise<void> {
    const { url, patience, came } = this.#options
    const settings = {
      // A row that somebody else holds must not keep the others of the group for long.
      lock_timeout: Math.ceil(patience / 5),
      statement_timeout: Math.ceil(patience / 2),
      // A process that was stopped in the middle must not keep its rows from everybody.
      idle_in_transaction_session_timeout: patience * 2,
    }
    const session = await Session.open({ url, within: patience, settings })
    const outcomes = await this.#register(session).catch(error => {
      session.drop()
      throw error
    })
    if (this.#closed) return session.end()
    session.onLost = () => this.#lost()
    if (session.lost) return this.#lost()
    this.session = session
    this.downSince = undefined
    this.cause = undefined
    this.#opened.resolve()
    came(session, outcomes)
  }
  #lost(): void {
    this.session = undefined
    this.downSince ??= performance.now()
    if (!this.#closed) void this.#dial()
  }
  async #register(session: Session): Promise<readonly Outcome[] | undefined | 'forgotten'> {
    const { key } = this
    const heard = await session.flight(
      [
        { text: 'SELECT pg_advisory_lock_shared($1)', values: [key] },
        { text: REGISTER, values: [key, this.#number] },
      ],
      this.#options.patience,
    )
    for (const each of heard) if ('error' in each) throw each.error
    this.repeatWills()
    const [row] = heard[1] && 'rows' in heard[1] ? heard[1].rows : []
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
