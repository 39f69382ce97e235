/** The tables of plans. A window of an account's plan is a wallet with an odd number below zero,
 *  which has the amount of the plan as its balance: leases, holds and reaping treat it like any
 *  other. A charge with a plan takes the part that the plan holds from there, and the rest from the
 *  account. */
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { lockOf, openWallet } from '../statements.ts'
import { byKey, type KeyOf, PLANNED_COLUMN, sumPlanned } from '../views/usage-days.ts'
import { walletInSql, walletOf } from '../wallet.ts'
import { plannedInSql } from './part.ts'

const sql = (name: string, text: string): Sql => ({ name: `plans: ${name}`, text })

/** `charges.plan`: the wallet of the window; `plan_held`: nanos of the hold that it pays.
 *  `credits.planned`: the part of a refund that returned to a plan. `account_plans.plan` null: the
 *  account has none any more; `until`: ms since 1970, null: without an end; `change` orders the
 *  changes, so that processes read only new ones. `plan_windows.amount`: what it began with. */
const TABLES = `
  ALTER TABLE charges ADD COLUMN plan BIGINT;
  ALTER TABLE charges ADD COLUMN plan_held BIGINT;
  CREATE INDEX charges_plan ON charges (account, opened) WHERE plan IS NOT NULL;
  ALTER TABLE credits ADD COLUMN planned BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE archived_charges ADD COLUMN planned BIGINT NOT NULL DEFAULT 0;
  ${PLANNED_COLUMN};
  CREATE TABLE plan_windows (
    wallet BIGINT PRIMARY KEY,
    account BIGINT NOT NULL,
    plan TEXT NOT NULL,
    period TEXT NOT NULL,
    start BIGINT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0));
  CREATE UNIQUE INDEX plan_windows_account ON plan_windows (account, plan, period, start);
  CREATE TABLE account_plans (
    account BIGINT PRIMARY KEY,
    plan TEXT,
    since BIGINT NOT NULL,
    until BIGINT,
    change BIGINT NOT NULL);
  CREATE INDEX account_plans_change ON account_plans (change);
  CREATE TABLE plan_changes (id BIGINT PRIMARY KEY, number BIGINT NOT NULL);
  INSERT INTO plan_changes (id, number) VALUES (1, 0)`

/** `account_plans.paid`: the wallet of the window that the account bought, which ends at `until`;
 *  null: an operator assigned the plan. `renews` 1: it pays for the next window then; `unpaid` 1:
 *  it has ended, since the balance did not cover that. `plan_payments`: the debits that paid for a
 *  window; `amount`: what the window got for it. */
export const PLAN_PAYMENT_TABLES = `
  ALTER TABLE account_plans ADD COLUMN paid BIGINT;
  ALTER TABLE account_plans ADD COLUMN renews BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE account_plans ADD COLUMN unpaid BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX account_plans_due ON account_plans (until) WHERE renews = 1;
  CREATE TABLE plan_payments (
    credit BIGINT PRIMARY KEY,
    account BIGINT NOT NULL,
    wallet BIGINT NOT NULL,
    price BIGINT NOT NULL CHECK (price > 0),
    amount BIGINT NOT NULL CHECK (amount > 0));
  CREATE INDEX plan_payments_wallet ON plan_payments (wallet)`

/** `carried`: the part of the amount that came from the window `source`; `moved`: what this window
 *  has given to the next one. */
export const ROLLOVER_COLUMNS = `
  ALTER TABLE plan_windows ADD COLUMN carried BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE plan_windows ADD COLUMN source BIGINT;
  ALTER TABLE plan_windows ADD COLUMN moved BIGINT NOT NULL DEFAULT 0`

const PLANNED = plannedInSql('NEW')
const ACCOUNT = walletInSql.account('NEW.account')
const KEY = walletInSql.key('NEW.key')
const ofAccount = (column: string, nanos: string): string =>
  `CASE WHEN ${column} = ${ACCOUNT} THEN ${nanos} ELSE 0 END`
/** As in `../tables.ts`: 1 if the wallet was held for the charge. */
const WAS_HELD = `CASE WHEN ${walletInSql.isAccount('id')} OR NEW.key_held IS NULL THEN limited ELSE NEW.key_held END`
/** Columns of the row `NEW` of `charges`. */
interface PlanColumns {
  /** The part of the charge that the plan pays, in its unit. */
  readonly used: string
  /** The part of the hold. */
  readonly heldPart: string
  /** Nanos of the hold that the plan pays. */
  readonly paid: string
}
const IN_MONEY: PlanColumns = { used: PLANNED, heldPart: 'NEW.plan_held', paid: 'NEW.plan_held' }
/** The settlement of a row with a plan. The account and the quota of its key count all of it. */
export const planSettled = (keyOf: KeyOf, { used, heldPart, paid } = IN_MONEY): string => `
    UPDATE shares SET amount = amount - NEW.amount + ${ofAccount('wallet', PLANNED)}
      WHERE process = NEW.process
        AND wallet IN (${ACCOUNT}, CASE WHEN NEW.key_held = 0 THEN NULL ELSE ${KEY} END);
    UPDATE shares SET amount = amount - ${used} WHERE process = NEW.process AND wallet = NEW.plan;
    UPDATE wallets SET used = used + NEW.amount,
        balance = balance - NEW.amount + ${ofAccount('id', PLANNED)},
        reserved = reserved - ${WAS_HELD} * CASE WHEN NEW.process IS NULL
          THEN NEW.held - ${ofAccount('id', paid)}
          ELSE NEW.amount - ${ofAccount('id', PLANNED)} END
      WHERE id IN (${ACCOUNT}, ${KEY});
    UPDATE wallets SET used = used + ${used}, balance = balance - ${used},
        reserved = reserved - CASE WHEN NEW.process IS NULL THEN ${heldPart} ELSE ${used} END
      WHERE id = NEW.plan;
    ${sumPlanned(PLANNED, keyOf)}`
export const planReleased = (heldPart = IN_MONEY.heldPart): string => `
    UPDATE wallets SET reserved = reserved - ${WAS_HELD} * (NEW.held - ${ofAccount('id', 'NEW.plan_held')})
      WHERE id IN (${ACCOUNT}, ${KEY});
    UPDATE wallets SET reserved = reserved - ${heldPart} WHERE id = NEW.plan;`
const RELEASED = planReleased()
const SETTLED = planSettled(byKey)
export const IS_PLAN_SETTLED =
  "OLD.state = 'open' AND NEW.state = 'settled' AND NEW.plan IS NOT NULL"
const IS_SETTLED = "OLD.state = 'open' AND NEW.state = 'settled'"
export const IS_RELEASED_KEPT =
  "OLD.state = 'open' AND NEW.state = 'released' AND NEW.process IS NULL"

/** The part of a refund that returns to the plan: what the plan paid of the call. */
const returned = (part: string): string => `coalesce((SELECT ${part} FROM charges c
        WHERE NEW.kind = 'refund' AND c.request = NEW.request AND c.plan IS NOT NULL), 0)`
const RETURNED = returned(plannedInSql('c'))
/** `part`: of the charge `c` that returns to its plan, in its unit. */
export const planCredited = (part = plannedInSql('c')): string => `
    UPDATE wallets SET balance = balance + NEW.amount - ${RETURNED},
        used = used - CASE WHEN NEW.kind = 'refund' THEN NEW.amount ELSE 0 END
      WHERE id = ${ACCOUNT};
    UPDATE wallets SET balance = balance + ${returned(part)}, used = used - ${returned(part)}
      WHERE id = (SELECT c.plan FROM charges c WHERE NEW.kind = 'refund' AND c.request = NEW.request);
    UPDATE credits SET planned = ${RETURNED} WHERE id = NEW.id AND ${RETURNED} > 0;`
const CREDITED = planCredited()

/** Rows without a plan keep their triggers as they were. `settled` and `released`: the events and
 *  work of those triggers. */
export const planTables = (existing: { readonly settled: string; readonly released: string }) => ({
  text: `${TABLES};
  DROP TRIGGER charges_settled;
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges
    WHEN ${IS_SETTLED} AND NEW.plan IS NULL BEGIN ${existing.settled} END;
  CREATE TRIGGER charges_plan_settled AFTER UPDATE OF state ON charges
    WHEN ${IS_PLAN_SETTLED} BEGIN ${SETTLED}; END;
  DROP TRIGGER charges_released;
  CREATE TRIGGER charges_released AFTER UPDATE OF state ON charges
    WHEN ${IS_RELEASED_KEPT} AND NEW.plan IS NULL BEGIN ${existing.released} END;
  CREATE TRIGGER charges_plan_released AFTER UPDATE OF state ON charges
    WHEN ${IS_RELEASED_KEPT} AND NEW.plan IS NOT NULL BEGIN ${RELEASED} END;
  DROP TRIGGER credits_made;
  CREATE TRIGGER credits_made AFTER INSERT ON credits BEGIN ${CREDITED} END`,
  postgres: `${TABLES};
  DROP TRIGGER charges_settled ON charges;
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_SETTLED} AND NEW.plan IS NULL) EXECUTE FUNCTION tollgate_settled();
  CREATE FUNCTION tollgate_plan_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SETTLED}; RETURN NULL; END $$;
  CREATE TRIGGER charges_plan_settled AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_PLAN_SETTLED}) EXECUTE FUNCTION tollgate_plan_settled();
  DROP TRIGGER charges_released ON charges;
  CREATE TRIGGER charges_released AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_RELEASED_KEPT} AND NEW.plan IS NULL) EXECUTE FUNCTION tollgate_released();
  CREATE FUNCTION tollgate_plan_released() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${RELEASED} RETURN NULL; END $$;
  CREATE TRIGGER charges_plan_released AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_RELEASED_KEPT} AND NEW.plan IS NOT NULL) EXECUTE FUNCTION tollgate_plan_released();
  CREATE OR REPLACE FUNCTION tollgate_credited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${CREDITED} RETURN NULL; END $$`,
})

// ---------------------------------------------------------------- windows

const OPEN = sql(
  'open',
  `INSERT INTO plan_windows (wallet, account, plan, period, start, amount) VALUES (?, ?, ?, ?, ?, ?)
   ON CONFLICT DO NOTHING`,
)
const IS_OWN = sql(
  'is own',
  `UPDATE plan_windows SET start = start
   WHERE wallet = ? AND account = ? AND plan = ? AND period = ? AND start = ?`,
)
export interface PlanWindowRow {
  readonly wallet: number
  readonly account: number
  readonly plan: string
  readonly period: string
  /** ms since 1970. */
  readonly start: number
}
/** Creates a window with this amount; an existing one keeps its own. Rejects with
 *  WALLET_TAKEN if another window has the number. */
export const openPlanWindow = (row: PlanWindowRow, amount: bigint): readonly Statement[] => {
  const { wallet, account, plan, period, start } = row
  return [
    { sql: OPEN, values: [wallet, account, plan, period, start, amount] },
    isOwn(row),
    openWallet(walletOf.account(account), 0n),
    openWallet(wallet, amount),
  ]
}
const isOwn = ({ wallet, account, plan, period, start }: PlanWindowRow): Statement => ({
  sql: IS_OWN,
  values: [wallet, account, plan, period, start],
  rows: 1,
  otherwise: 'WALLET_TAKEN',
})

const ADD_TO_WINDOW = sql(
  'add to window',
  `INSERT INTO plan_windows (wallet, account, plan, period, start, amount) VALUES (?, ?, ?, ?, ?, ?)
   ON CONFLICT (wallet) DO UPDATE SET amount = plan_windows.amount + excluded.amount`,
)
const ADD_TO_WALLET = sql('add to wallet', 'UPDATE wallets SET balance = balance + ? WHERE id = ?')
/** Adds an amount to a window, which it creates if needed. Rejects with WALLET_TAKEN. */
export const addToPlanWindow = (row: PlanWindowRow, amount: bigint): readonly Statement[] => {
  const { wallet, account, plan, period, start } = row
  return [
    { sql: ADD_TO_WINDOW, values: [wallet, account, plan, period, start, amount] },
    isOwn(row),
    openWallet(wallet, 0n),
    { sql: ADD_TO_WALLET, values: [amount, wallet], rows: 1 },
  ]
}

// ---------------------------------------------------------------- rollover

const LAST = sql(
  'last window',
  `SELECT period, start FROM plan_windows
   WHERE account = ? AND plan = ? AND NOT (period = ? AND start = ?) ORDER BY start DESC LIMIT 1`,
)
/** The last window that the account has of the plan, except this one. */
export const lastWindow = async (
  database: Pick<Database, 'read'>,
  { account, plan, period, start }: Omit<PlanWindowRow, 'wallet'>,
): Promise<Row | undefined> => (await database.read(LAST, [account, plan, period, start]))[0]

const HAS_SOURCE = sql('has source', 'SELECT 1 FROM plan_windows WHERE wallet = ? AND source = ?')
/** Whether the window has got the rest of the window `source`. */
export const hasSource = async (
  database: Pick<Database, 'read'>,
  wallet: number,
  source: number,
): Promise<boolean> => (await database.read(HAS_SOURCE, [wallet, source])).length > 0

const REST = 'balance - reserved'
const ROOM = `CAST(? AS BIGINT) - coalesce((SELECT carried FROM plan_windows WHERE wallet = ?), 0)`
/** `granted` is the amount that moves, for the next statements of the list. */
const FIND_REST = sql(
  'find rest',
  `UPDATE wallets SET granted = CASE WHEN ${REST} <= 0 OR ${ROOM} <= 0 THEN 0
     WHEN ${REST} < ${ROOM} THEN ${REST} ELSE ${ROOM} END WHERE id = ?`,
)
const MOVING = 'coalesce((SELECT s.granted FROM wallets s WHERE s.id = ?), 0)'
const CARRY_TO_WALLET = sql(
  'carry',
  `UPDATE wallets SET balance = balance + ${MOVING} WHERE id = ?`,
)
const CARRY_TO_WINDOW = sql(
  'carry to window',
  `UPDATE plan_windows SET carried = carried + ${MOVING}, amount = amount + ${MOVING}, source = ?
   WHERE wallet = ?`,
)
const MOVE_FROM_WINDOW = sql(
  'move from window',
  `UPDATE plan_windows SET moved = moved + ${MOVING} WHERE wallet = ?`,
)
const MOVE_FROM_WALLET = sql(
  'move from wallet',
  'UPDATE wallets SET balance = balance - granted, granted = 0 WHERE id = ?',
)
/** Moves the unused rest of the window `source` to `wallet`, up to `most` in all. Both have the
 *  same unit. Amounts that calls hold stay. Repeated, it moves what has returned since. */
export const carryRest = (source: number, wallet: number, most: bigint): readonly Statement[] => {
  const room = [most, wallet] as const
  return [
    {
      sql: FIND_REST,
      values: [...room, ...room, ...room, source],
      locks: [source, wallet].map(lockOf),
    },
    { sql: CARRY_TO_WALLET, values: [source, wallet] },
    { sql: CARRY_TO_WINDOW, values: [source, source, source, wallet] },
    { sql: MOVE_FROM_WINDOW, values: [source, source] },
    { sql: MOVE_FROM_WALLET, values: [source] },
  ]
}
