/** Finds processes that died without a word and applies their wills, once, whoever of the living is first. */
import type { Sql, Statement } from '../../plugin.ts'
import { progressIn, removeProgress } from '../progress.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { fromWire, progressed, type Spelled } from '../values.ts'
import { Phrases } from './dialect-cache.ts'
import { commitGroup } from './group-commit.ts'
import type { Reads } from './reads.ts'
import { Session } from './session.ts'
import { type Step, stepOf } from './steps.ts'

export interface BurialsOptions {
  readonly url: string
  readonly reads: Reads
  /** ms for which a process may be without a connection before it counts as dead. */
  readonly grace: number
  /** ms between two looks. */
  readonly every: number
  /** Where processes of this machine left how far they had come. */
  readonly folder: string | undefined
  report(text: string): void
}
// The lock of a process is its key; the server lets go of it with the connection. Long after its end nobody comes back
// with a list whose answer was lost, and its row may go.
const FORSAKEN: Sql = {
  name: 'store forsaken',
  text: `SELECT client FROM tollgate_clients WHERE gone IS NULL AND client NOT IN (
    SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory'
      AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
}
const LOCK = 'SELECT pg_try_advisory_lock($1) AS alone'
const WILLS = 'SELECT name, statements FROM tollgate_wills WHERE client = $1 ORDER BY name'
const WITHDRAW = 'DELETE FROM tollgate_wills WHERE client = $1'
const BURIED = `UPDATE tollgate_clients SET gone = (extract(epoch FROM clock_timestamp()) * 1000)::bigint WHERE client = $1`
const FORGET = `DELETE FROM tollgate_clients WHERE gone < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 600000`
/** ms that one burial may take. */
const WITHIN = 10_000

export class Burials {
  readonly #options: BurialsOptions
  /** Since when each was seen without its lock, by our monotonic clock. */
  #missed = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #closed = false

  constructor(options: BurialsOptions) {
    this.#options = options
    this.#wait()
  }
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
  }
  #wait(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      // The store is away, or another of us was faster: the next look tells.
      this.#looking = this.#look()
        .catch(() => {})
        .finally(() => this.#wait())
    }, this.#options.every).unref()
  }
  async #look(): Promise<void> {
    const now = performance.now()
    const rows = await this.#options.reads.read(FORSAKEN, [])
    const keys = rows.map(({ client }) => String(client))
    this.#missed = new Map(keys.map(key => [key, this.#missed.get(key) ?? now]))
    for (const [key, since] of this.#missed) {
      if (now - since >= this.#options.grace) await this.#bury(key)
    }
  }
  async #bury(key: string): Promise<void> {
    const session = await Session.open({ url: this.#options.url, within: WITHIN })
    try {
      const values = [key]
      const [lock, found] = await session.flight(
        [
          { text: LOCK, values },
          { text: WILLS, values },
        ],
        WITHIN,
      )
      // It is back, or another of us is at it.
      if (!lock || 'error' in lock || lock.rows[0]?.alone !== 1) return
      const wills = found && 'rows' in found ? found.rows : []
      const progress = progressIn(this.#options.folder, key)
      const phrases = new Phrases()
      let applied = false
      const own = [
        { text: WITHDRAW, values },
        { text: BURIED, values },
      ]
      await commitGroup(
        session,
        {
          lists: wills.map(({ name, statements }) =>
            stepsOf(
              phrases,
              progressed(JSON.parse(String(statements)), progress.get(String(name))),
            ),
          ),
          own,
          seal: () => ({ text: FORGET }),
          committing: outcomes => {
            const names = wills.map(({ name }) => String(name))
            applied = this.#judge(names, outcomes)
            return applied
          },
        },
        WITHIN,
      )
      if (applied) removeProgress(this.#options.folder, key)
    } finally {
      await session.end()
    }
  }
  /** One that was settled after all has had its say; one that the store could not take comes again with the next look. */
  #judge(names: readonly string[], outcomes: readonly Outcome[]): boolean {
    let all = true
    for (const [at, outcome] of outcomes.entries()) {
      if (!('refused' in outcome)) continue
      if (outcome.refused.kind === 'unavailable') all = false
      this.#options.report(
        `the will "${names[at]}" was refused: ${JSON.stringify(outcome.refused)}`,
      )
    }
    return all
  }
}

const stepsOf = (phrases: Phrases, statements: readonly Spelled[]): Step[] =>
  statements.map(([sql, rows, ...values]) => {
    const statement: Statement = {
      sql: { name: sql, text: sql },
      values: values.map(fromWire),
      ...(rows === -2 && { rows: 'some' }),
      ...(rows >= 0 && { rows }),
    }
    return stepOf(phrases, statement)
  })
