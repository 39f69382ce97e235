/** Who lives: this process counts a beat up in the store, and buries those whose beat stands still, with what they held. */
import { randomBytes } from 'node:crypto'
import { isCode } from '../kit.ts'
import type { Database, Log, Migration, Mourner, Sql, Standing, Statement } from '../plugin.ts'
import { monotonic } from './clock.ts'

// No wall clock is in it: one that is set forward must not free what is in use. And whoever cannot look, since the store is
// away, counts nothing: when it is back everybody beats before anybody has looked often enough.
export const STANDING_TABLE: readonly Migration[] = [
  {
    number: 1,
    text: 'CREATE TABLE tollgate_processes (id TEXT PRIMARY KEY, beat BIGINT NOT NULL)',
  },
  { number: 2, text: 'ALTER TABLE tollgate_processes ADD COLUMN client BIGINT' },
]
const sql = (name: string, text: string): Sql => ({ name: `standing: ${name}`, text })
const ENTER = sql(
  'enter',
  'INSERT INTO tollgate_processes (id, beat, client) VALUES (?, 0, ?) ON CONFLICT (id) DO NOTHING',
)
const BEAT = sql('beat', 'UPDATE tollgate_processes SET beat = beat + 1 WHERE id = ?')
const LEAVE = sql('leave', 'DELETE FROM tollgate_processes WHERE id = ?')
// Reaping releases what the process held; its on-crash statements say what of that is charged. A writer that dies again and
// again keeps on-crash statements from being applied for longer than a heartbeat may stand still.
const BURY = sql(
  'bury',
  `DELETE FROM tollgate_processes WHERE id = ? AND beat = ?
   AND NOT EXISTS (SELECT 1 FROM tollgate_wills w WHERE w.client = tollgate_processes.client)`,
)
export const ALL = sql('all', 'SELECT id, beat FROM tollgate_processes ORDER BY id')

/** The store knows no process of this name. */
const GONE = 'PROCESS_GONE'
const ALIVE = 'STILL_ALIVE'

/** ms between two beats, and between two looks at the beats of others. */
const EVERY = 2_000
/** Looks at a beat that stands still until its process is taken for dead … */
const LOOKS = 5
/** … and beats without an answer of the store until a process is no longer sure that it is not: earlier. */
const SURE = 3.5

export interface StandingOptions {
  readonly database: Pick<Database, 'read' | 'write'> & { readonly client?: bigint }
  readonly log: Log
  readonly every?: number
  /** In place of one of its own. */
  readonly name?: string
  /** Whether it looks at others: a trial and a command do not. */
  readonly looks?: boolean
}
/** A process's own, closed with it. */
export interface OwnStanding extends Standing {
  /** It beats no more: whoever else goes by its name may. */
  rest(): void
  /** It leaves: what it held goes back. */
  close(): Promise<void>
}

/** A process that has not been heard of since `beat` is over. Rejects with STILL_ALIVE when it was heard of meanwhile, when its last
 *  wills are still to be applied, or when another buried it. */
export const burial = (
  name: string,
  beat: number,
  mourners: Iterable<Mourner>,
): readonly Statement[] => [
  { sql: BURY, values: [name, beat], rows: 1, otherwise: ALIVE },
  ...estate(name, mourners),
]
const estate = (name: string, mourners: Iterable<Mourner>): Statement[] =>
  [...mourners].flatMap(mourner => mourner.buried?.(name) ?? [])

/** `client`: under which its last wills stand. */
export const entrance = (name: string, client?: bigint): Statement => ({
  sql: ENTER,
  values: [name, client ?? null],
})

export const createStanding = (options: StandingOptions): OwnStanding => new Own(options)

class Own implements OwnStanding {
  readonly #options: StandingOptions
  readonly #every: number
  readonly #mourners = new Map<string, Mourner>()
  readonly #watched = new Map<string, { readonly beat: number; readonly looks: number }>()
  /** Beats and looks; the first begins with a name, the second with a mourner. */
  #beating: NodeJS.Timeout | undefined
  #looking: NodeJS.Timeout | undefined
  #doubt: NodeJS.Timeout | undefined
  #entering: Promise<string> | undefined
  /** The name as the store knows it; undefined between two lives. */
  #known: string | undefined
  #until = 0
  #closed = false

  constructor(options: StandingOptions) {
    this.#options = options
    this.#every = options.every ?? EVERY
  }
  async name(): Promise<string> {
    // After a standstill of the whole process its timers may not have run yet.
    if (this.#known !== undefined && monotonic() < this.#until) return this.#known
    if (this.#known !== undefined) await this.#beat(this.#known)
    if (this.#known !== undefined) return this.#known
    this.#entering ??= this.#enter().finally(() => {
      this.#entering = undefined
    })
    return this.#entering
  }
  goesBy(name: string): boolean {
    return this.#known === name
  }
  lost(name: string): void {
    if (!this.goesBy(name)) return
    clearTimeout(this.#beating)
    clearTimeout(this.#doubt)
    this.#known = undefined
    for (const mourner of this.#mourners.values()) mourner.lost?.()
  }
  watch(owner: string, mourner: Mourner): void {
    this.#mourners.set(owner, mourner)
    if (this.#options.looks !== false && !this.#closed) this.#looking ??= this.#nextLook()
  }
  rest(): void {
    this.#closed = true
    for (const timer of [this.#looking, this.#beating, this.#doubt]) clearTimeout(timer)
  }
  async close(): Promise<void> {
    this.rest()
    const name = this.#known
    if (name === undefined) return
    this.lost(name)
    const leave = { sql: LEAVE, values: [name] }
    await this.#options.database.write([leave, ...estate(name, this.#mourners.values())])
  }
  async #enter(): Promise<string> {
    const name = this.#options.name ?? `p_${randomBytes(8).toString('hex')}`
    const asked = monotonic()
    const { database, name: given } = this.#options
    await database.write([entrance(name, given === undefined ? database.client : undefined)])
    this.#known = name
    this.#heard(asked)
    this.#nextBeat(name)
    return name
  }
  #nextBeat(name: string): void {
    this.#beating = setTimeout(() => {
      // Without the store nothing is known; the next beat tries again.
      this.#beat(name)
        .catch(() => {})
        .finally(() => !this.#closed && this.goesBy(name) && this.#nextBeat(name))
    }, this.#every).unref()
  }
  async #beat(name: string): Promise<void> {
    const asked = monotonic()
    try {
      const beat = { sql: BEAT, values: [name], rows: 1, otherwise: GONE }
      await this.#options.database.write([beat])
      if (this.goesBy(name)) this.#heard(asked)
    } catch (thrown) {
      if (!isCode(thrown, GONE)) throw thrown
      this.lost(name)
    }
  }
  /** It is sure from before the question on. */
  #heard(asked: number): void {
    this.#until = asked + this.#every * SURE
    clearTimeout(this.#doubt)
    // A process that slept may hear the answer after it is good for anything.
    const left = Math.max(0, this.#until - monotonic())
    const doubt = () => this.#mourners.forEach(mourner => void mourner.doubtful?.())
    this.#doubt = setTimeout(doubt, left).unref()
  }
  #nextLook(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#look()
        .catch(() => {})
        .finally(() => {
          if (!this.#closed) this.#looking = this.#nextLook()
        })
    }, this.#every).unref()
  }
  async #look(): Promise<void> {
    const gone = new Set(this.#watched.keys())
    for (const row of await this.#options.database.read(ALL, [])) {
      const name = String(row.id)
      const beat = Number(row.beat)
      if (this.goesBy(name)) continue
      const before = this.#watched.get(name)
      const looks = before?.beat === beat ? before.looks + 1 : 0
      gone.delete(name)
      this.#watched.set(name, { beat, looks })
      if (looks >= LOOKS) await this.#bury(name, beat)
    }
    for (const name of gone) this.#watched.delete(name)
  }
  async #bury(name: string, beat: number): Promise<void> {
    const { database, log } = this.#options
    try {
      for (const mourner of this.#mourners.values()) await mourner.dying?.(name)
      await database.write(burial(name, beat, this.#mourners.values()))
      log.info({ dead: name }, 'a process ended without a word: what it held went back')
    } catch (thrown) {
      if (!isCode(thrown, ALIVE)) throw thrown
    }
  }
}
