/** The tables of budgets. A window of a budget is a wallet with an odd number below zero, which is
 *  neither an account nor a key: leases, holds and reaping treat it like any other. */
import type { Sql, Statement } from '../../../engine/plugin.ts'
import { openWallet } from '../statements.ts'
import { IS_REFUND } from '../views/usage-days.ts'
import { setAlerts } from './alert-tables.ts'
import type { Budget } from './section.ts'

const sql = (name: string, text: string): Sql => ({ name: `budgets: ${name}`, text })

/** `charges.budgets`: JSON, the wallets of a call; a positive number counts the charge of the
 *  wallet with its negative, which held nothing. */
const TABLES = `
  ALTER TABLE charges ADD COLUMN budgets TEXT;
  CREATE INDEX charges_budgets ON charges (opened) WHERE budgets IS NOT NULL;
  CREATE TABLE budget_windows (
    wallet BIGINT PRIMARY KEY,
    budget TEXT NOT NULL,
    kind TEXT NOT NULL,
    owner BIGINT NOT NULL,
    period TEXT NOT NULL,
    start BIGINT NOT NULL);
  CREATE UNIQUE INDEX budget_windows_owner ON budget_windows (kind, owner, budget, period, start)`

/** The numbers of a JSON list: a source of rows `n`, and its value. */
export interface Numbers {
  of(list: string): string
  readonly value: string
}
export const NUMBERS = {
  sqlite: { of: list => `json_each(${list}) n`, value: 'n.value' },
  postgres: {
    of: list => `json_array_elements_text(CAST(${list} AS json)) n`,
    value: 'CAST(n.value AS BIGINT)',
  },
} satisfies Readonly<Record<string, Numbers>>

const LIST = 'NEW.budgets'
const allIn = ({ value, of }: Numbers, list = LIST): string =>
  `(SELECT -abs(${value}) FROM ${of(list)})`
const heldIn = ({ value, of }: Numbers): string => `(SELECT ${value} FROM ${of(LIST)})`
const settled = (numbers: Numbers): string => `
    UPDATE shares SET amount = amount - NEW.amount
      WHERE process = NEW.process AND wallet IN ${heldIn(numbers)};
    UPDATE wallets SET balance = balance - NEW.amount, used = used + NEW.amount,
        reserved = reserved - CASE WHEN id NOT IN ${heldIn(numbers)} THEN 0
          WHEN NEW.process IS NULL THEN NEW.held ELSE NEW.amount END
      WHERE id IN ${allIn(numbers)};`
const released = (numbers: Numbers): string => `
    UPDATE wallets SET reserved = reserved - NEW.held WHERE id IN ${heldIn(numbers)};`
/** A refund is added back to the windows from which its call was paid. */
const refunded = (numbers: Numbers): string => `
    UPDATE wallets SET balance = balance + NEW.amount, used = used - NEW.amount
      WHERE id IN ${allIn(numbers, '(SELECT c.budgets FROM charges c WHERE c.request = NEW.request)')};`

const IS_SETTLED = "OLD.state = 'open' AND NEW.state = 'settled' AND NEW.budgets IS NOT NULL"
const IS_RELEASED_KEPT =
  "OLD.state = 'open' AND NEW.state = 'released' AND NEW.process IS NULL AND NEW.budgets IS NOT NULL"
const TRIGGERS = [
  ['settled', 'UPDATE OF state ON charges', IS_SETTLED, settled],
  ['released', 'UPDATE OF state ON charges', IS_RELEASED_KEPT, released],
  ['refunded', 'INSERT ON credits', IS_REFUND, refunded],
] as const

export const BUDGET_TABLES = {
  text: [
    TABLES,
    ...TRIGGERS.map(
      ([name, event, when, work]) =>
        `CREATE TRIGGER budgets_${name} AFTER ${event} WHEN ${when} BEGIN ${work(NUMBERS.sqlite)} END`,
    ),
  ].join(';'),
  postgres: [
    TABLES,
    ...TRIGGERS.flatMap(([name, event, when, work]) => [
      `CREATE FUNCTION tollgate_budget_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${work(NUMBERS.postgres)} RETURN NULL; END $$`,
      `CREATE TRIGGER budgets_${name} AFTER ${event} FOR EACH ROW
    WHEN (${when}) EXECUTE FUNCTION tollgate_budget_${name}()`,
    ]),
  ].join(';'),
}

const OPEN = sql(
  'open',
  `INSERT INTO budget_windows (wallet, budget, kind, owner, period, start) VALUES (?, ?, ?, ?, ?, ?)
   ON CONFLICT DO NOTHING`,
)
const IS_OWN = sql(
  'is own',
  `UPDATE budget_windows SET start = start
   WHERE wallet = ? AND budget = ? AND kind = ? AND owner = ? AND period = ? AND start = ?`,
)
// After the statement above, which locks the window: changes of a window take their order.
const IS_CURRENT = sql(
  'is current',
  `UPDATE budget_windows SET start = start WHERE wallet = ? AND NOT EXISTS (
     SELECT 1 FROM budget_rows WHERE kind = ? AND owner = ? AND name = ? AND change > ?)`,
)
// Usage stays. A lower amount than the used and the held one refuses calls until they fit.
const SET_AMOUNT = sql(
  'set amount',
  'UPDATE wallets SET balance = CAST(? AS BIGINT) - used, limited = 0 WHERE id = ?',
)
/** The window of one owner. `start`: ms since 1970. */
export interface WindowRow {
  readonly wallet: number
  readonly budget: string
  readonly kind: string
  readonly owner: number
  readonly period: string
  readonly start: number
}
/** Creates a window, or gives an existing one this amount in nanos and these alerts. `change`: the
 *  last change of rows that the amount follows. Rejects with WALLET_TAKEN if another window has the
 *  number, with BUDGET_OUTDATED if the row of the budget has changed since. */
export const openWindow = (
  { wallet, budget, kind, owner, period, start }: WindowRow,
  { amount, alertAt }: Pick<Budget, 'amount' | 'alertAt'>,
  change: number,
): readonly Statement[] => {
  const values = [wallet, budget, kind, owner, period, start]
  return [
    { sql: OPEN, values },
    { sql: IS_OWN, values, rows: 1, otherwise: 'WALLET_TAKEN' },
    {
      sql: IS_CURRENT,
      values: [wallet, kind, owner, budget, change],
      rows: 1,
      otherwise: 'BUDGET_OUTDATED',
    },
    openWallet(wallet, undefined),
    { sql: SET_AMOUNT, values: [amount, wallet], rows: 1 },
    ...setAlerts(wallet, amount, alertAt),
  ]
}
/** Parameter: the wallet of a window. */
export const WINDOW_USE = sql('use', 'SELECT used, reserved, balance FROM wallets WHERE id = ?')
