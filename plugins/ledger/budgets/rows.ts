/** Budgets of one account, key or member: rows of the store, which operators set. A row of the name
 *  of a budget in `budgets:` takes its place for that owner. */
import type { Database, Log, Row, Sql, Statement, Value } from '../../../engine/plugin.ts'
import type { Currency } from '../../billing/currency.ts'
import type { OwnerKind } from './owner.ts'
import { changesOf, RowFollower } from './row-follower.ts'
import { type Budget, type BudgetTerms, parseBudget } from './section.ts'

const sql = (name: string, text: string): Sql => ({ name: `budgets: ${name}`, text })

/** `account`: the one that the owner belongs to. `settings`: JSON, see `BudgetTerms`; null: it is
 *  removed. `change`: orders the changes, so that processes read only new ones. */
export const BUDGET_ROW_TABLES = {
  text: `CREATE TABLE budget_rows (
    kind TEXT NOT NULL,
    owner BIGINT NOT NULL,
    name TEXT NOT NULL,
    account BIGINT NOT NULL,
    settings TEXT,
    change BIGINT NOT NULL,
    PRIMARY KEY (kind, owner, name));
  CREATE INDEX budget_rows_change ON budget_rows (change);
  CREATE INDEX budget_rows_account ON budget_rows (account);
  CREATE TABLE budget_changes (id BIGINT PRIMARY KEY, number BIGINT NOT NULL);
  INSERT INTO budget_changes (id, number) VALUES (1, 0)`,
}

const { count: COUNT_CHANGE, number: NUMBER } = changesOf('budget')
const SET = sql(
  'set',
  `INSERT INTO budget_rows (kind, owner, name, account, settings, change) VALUES (?, ?, ?, ?, ?, ${NUMBER})
   ON CONFLICT (kind, owner, name) DO UPDATE SET settings = excluded.settings, change = excluded.change`,
)
const REMOVE = sql(
  'remove',
  `UPDATE budget_rows SET settings = NULL, change = ${NUMBER}
   WHERE kind = ? AND owner = ? AND name = ? AND settings IS NOT NULL`,
)
export interface BudgetRowKey {
  readonly kind: OwnerKind
  readonly owner: number
  readonly name: string
}
export const setBudgetRow = (
  { kind, owner, name }: BudgetRowKey,
  account: number,
  terms: BudgetTerms,
): readonly Statement[] => [
  COUNT_CHANGE,
  { sql: SET, values: [kind, owner, name, account, JSON.stringify(terms)], rows: 1 },
]
/** Rejects with BUDGET_MISSING. */
export const removeBudgetRow = ({ kind, owner, name }: BudgetRowKey): readonly Statement[] => [
  COUNT_CHANGE,
  { sql: REMOVE, values: [kind, owner, name], rows: 1, otherwise: 'BUDGET_MISSING' },
]

// ---------------------------------------------------------------- rows as calls use them

const CHANGED = sql(
  'changed rows',
  'SELECT kind, owner, name, settings, change FROM budget_rows WHERE change > ? ORDER BY change',
)
/** A row, and the window that was opened last. */
export interface SingleBudget<Window> {
  readonly budget: Budget
  readonly owner: number
  window: Window | undefined
}
const NONE: readonly never[] = []
const ownerKey = (kind: Value | undefined, owner: Value | undefined): string => `${kind} ${owner}`

export interface RowSource {
  readonly database: Pick<Database, 'read'>
  readonly currency: Currency
  readonly log: Pick<Log, 'warn'>
  /** ms, monotonic. */
  readonly now?: () => number
}
export class BudgetRows<Window> {
  readonly #source: RowSource
  readonly #onChange: (key: BudgetRowKey) => void
  readonly #owners = new Map<string, SingleBudget<Window>[]>()
  #change = -1
  readonly follower: RowFollower

  constructor(source: RowSource, onChange: (key: BudgetRowKey) => void) {
    this.#source = source
    this.follower = new RowFollower(() => this.#read(), source.now)
    this.#onChange = onChange
  }
  /** The number of the last change that was read. */
  get change(): number {
    return this.#change
  }
  get isEmpty(): boolean {
    return this.#owners.size === 0
  }
  of(kind: OwnerKind, owner: number): readonly SingleBudget<Window>[] {
    return this.#owners.size === 0 ? NONE : (this.#owners.get(ownerKey(kind, owner)) ?? NONE)
  }
  async #read(): Promise<void> {
    for (const row of await this.#source.database.read(CHANGED, [this.#change])) this.#apply(row)
  }
  /** A row that cannot be read changes nothing: what applied before still does. */
  #apply({ kind, owner, name, settings, change }: Row): void {
    this.#change = Math.max(this.#change, Number(change))
    const named = { name: String(name), of: kind as OwnerKind }
    let budget: Budget | undefined
    try {
      budget = settings === null ? undefined : parseBudget(named, settings, this.#source.currency)
    } catch (error) {
      this.#source.log.warn(
        { budget: named.name, kind, owner, error },
        'a budget of the store cannot be read and is left out; set it again',
      )
      return
    }
    const key = ownerKey(kind, owner)
    const others = (this.#owners.get(key) ?? []).filter(each => each.budget.name !== name)
    const rows = budget ? [...others, { budget, owner: Number(owner), window: undefined }] : others
    if (rows.length === 0) this.#owners.delete(key)
    else this.#owners.set(key, rows)
    this.#onChange({ kind: named.of, owner: Number(owner), name: named.name })
  }
}
