/** The tables of the ledger, in nanos and ms. Triggers update the wallets in the statement that
 *  closes a charge, so that no code path can omit it. */
import { DURATIONS } from '../../engine/kit.ts'
import type { Migration } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { BUDGET_ALERT_TABLES } from './budgets/alert-tables.ts'
import { BUDGET_ROW_TABLES } from './budgets/rows.ts'
import { BUDGET_TABLES } from './budgets/tables.ts'
import { TOKEN_TABLES } from './budgets/token-tables.ts'
import { PAYMENT_TABLES, PLAN_CODES } from './payments/tables.ts'
import { PLAN_PAYMENT_TABLES, planTables, ROLLOVER_COLUMNS } from './plans/tables.ts'
import { PLAN_TOKEN_TABLES } from './plans/token-tables.ts'
import { CALLER_SUMS } from './views/caller-sums.ts'
import { TAG_SUMS } from './views/tag-days.ts'
import { USAGE_TOPS } from './views/top-usage.ts'
import {
  BACKFILL,
  byKey,
  IS_REFUND,
  OUTPUT_SUMS,
  SUM_SETTLED,
  sumRefund,
  sumReleased,
  USAGE_DAYS,
} from './views/usage-days.ts'
import { OWNER_COLUMNS, walletInSql } from './wallet.ts'

const DAY = DURATIONS.d

/** The columns of the first version. `process`: the type of that column. */
const chargeColumns = (process: string): string => `
    request TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    key BIGINT,
    process ${process},
    route TEXT NOT NULL,
    model TEXT NOT NULL,
    version BIGINT NOT NULL,
    rule TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'released')),
    held BIGINT NOT NULL CHECK (held >= 0),
    amount BIGINT NOT NULL DEFAULT 0 CHECK (amount >= 0 AND amount <= held),
    uncollected BIGINT NOT NULL DEFAULT 0 CHECK (uncollected >= 0),
    estimated BIGINT NOT NULL DEFAULT 0,
    usage TEXT,
    lines TEXT,
    opened BIGINT NOT NULL,
    closed BIGINT`

/** A wallet belongs to an account or to a key: see `walletOf`. `limited` 0: the wallet has no
 *  constraint, as for a key that has, or once had, no quota: a call without a hold of its quota may
 *  still be charged to it. `granted`: the nanos of the last lease, for the next statements of its
 *  list. `deepest`: the greatest overdraft ever set. `shares`: the budget leases of processes. */
const TABLES = `
  CREATE TABLE wallets (
    id BIGINT PRIMARY KEY,
    balance BIGINT NOT NULL DEFAULT 0,
    reserved BIGINT NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    overdraft BIGINT NOT NULL DEFAULT 0 CHECK (overdraft >= 0),
    deepest BIGINT NOT NULL DEFAULT 0,
    used BIGINT NOT NULL DEFAULT 0,
    limited BIGINT NOT NULL DEFAULT 1,
    granted BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT covered CHECK (limited = 0 OR balance - reserved >= -overdraft));
  CREATE TABLE ledger_processes (id TEXT PRIMARY KEY, seen BIGINT NOT NULL);
  CREATE TABLE shares (
    process TEXT NOT NULL,
    wallet BIGINT NOT NULL REFERENCES wallets (id),
    amount BIGINT NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (process, wallet));
  CREATE INDEX shares_wallet ON shares (wallet);
  CREATE TABLE charges (${chargeColumns('TEXT NOT NULL')});
  CREATE INDEX charges_account ON charges (account, opened);
  CREATE INDEX charges_open ON charges (account) WHERE state = 'open';
  CREATE TABLE credits (
    id BIGINT PRIMARY KEY,
    account BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'refund')),
    amount BIGINT NOT NULL CHECK (amount <> 0),
    request TEXT UNIQUE,
    note TEXT NOT NULL,
    at BIGINT NOT NULL);
  CREATE INDEX credits_account ON credits (account)`

const SETTLE_WALLETS = `
    UPDATE shares SET amount = amount - NEW.amount
      WHERE process = NEW.process AND wallet IN (${walletInSql.account('NEW.account')}, ${walletInSql.key('NEW.key')});
    UPDATE wallets SET balance = balance - NEW.amount, used = used + NEW.amount,
        reserved = reserved - NEW.amount * limited
      WHERE id IN (${walletInSql.account('NEW.account')}, ${walletInSql.key('NEW.key')});`
/** A refund credits the account; the usage of the key's quota stays. */
const CREDIT_WALLET = `
    UPDATE wallets SET balance = balance + NEW.amount,
        used = used - CASE WHEN NEW.kind = 'refund' THEN NEW.amount ELSE 0 END
      WHERE id = ${walletInSql.account('NEW.account')};`

/** SQLite cannot change a constraint of an existing table: this creates the table again. */
const DEBITS = `
  CREATE TABLE credits_anew (
    id BIGINT PRIMARY KEY,
    account BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'debit', 'refund')),
    amount BIGINT NOT NULL CHECK (amount <> 0),
    request TEXT UNIQUE,
    note TEXT NOT NULL,
    at BIGINT NOT NULL,
    CHECK (kind <> 'debit' OR amount < 0));
  INSERT INTO credits_anew (id, account, kind, amount, request, note, at)
    SELECT id, account, kind, amount, request, note, at FROM credits;
  DROP TABLE credits;
  ALTER TABLE credits_anew RENAME TO credits;
  CREATE INDEX credits_account ON credits (account);
  CREATE TRIGGER credits_made AFTER INSERT ON credits BEGIN ${CREDIT_WALLET} END`
const DEBITS_ON_POSTGRES = `
  ALTER TABLE credits DROP CONSTRAINT credits_kind_check;
  ALTER TABLE credits ADD CHECK (kind IN ('credit', 'debit', 'refund')), ADD CHECK (kind <> 'debit' OR amount < 0)`

/** `key_held`: whether the hold counts against the quota of the key; null: if the key's wallet is
 *  `limited`. */
const KEY_HELD = 'ALTER TABLE charges ADD COLUMN key_held BIGINT'
const SETTLED_AS_HELD = `
    UPDATE shares SET amount = amount - NEW.amount
      WHERE process = NEW.process
        AND wallet IN (${walletInSql.account('NEW.account')}, CASE WHEN NEW.key_held = 0 THEN NULL ELSE ${walletInSql.key('NEW.key')} END);
    UPDATE wallets SET balance = balance - NEW.amount, used = used + NEW.amount,
        reserved = reserved - NEW.amount *
          CASE WHEN ${walletInSql.isAccount('id')} OR NEW.key_held IS NULL THEN limited ELSE NEW.key_held END
      WHERE id IN (${walletInSql.account('NEW.account')}, ${walletInSql.key('NEW.key')});`

/** The checkpoint of an open charge: output tokens so far (`noted`; `usage` has the other meters),
 *  and the request attributes that its price depends on. */
const NOTED_COLUMN = `
  ALTER TABLE charges ADD COLUMN noted BIGINT;
  ALTER TABLE charges ADD COLUMN attributes TEXT`

/** The `id` of the last credit before a settled charge. It orders the entries of an account
 *  independently of clocks: a credit, then the charges with its id. Null: settled before this
 *  column existed. */
const SERIAL = 'ALTER TABLE charges ADD COLUMN serial BIGINT'

/** A hold that the books keep has no process: see `kept-hold.ts`. SQLite cannot drop a
 *  constraint, so the table is created again. */
const KEPT_TABLE = `
  CREATE TABLE charges_anew (${chargeColumns('TEXT')},
    key_held BIGINT,
    noted BIGINT,
    attributes TEXT,
    serial BIGINT);
  INSERT INTO charges_anew (request, account, key, process, route, model, version, rule, state, held,
      amount, uncollected, estimated, usage, lines, opened, closed, key_held, noted, attributes, serial)
    SELECT request, account, key, process, route, model, version, rule, state, held,
      amount, uncollected, estimated, usage, lines, opened, closed, key_held, noted, attributes, serial
    FROM charges;
  DROP TABLE charges;
  ALTER TABLE charges_anew RENAME TO charges;
  CREATE INDEX charges_account ON charges (account, opened);
  CREATE INDEX charges_open ON charges (account) WHERE state = 'open'`
/** 1 if the wallet `id` was held for the charge: the account's, and the key's if it has a quota. */
const WAS_HELD = `CASE WHEN ${walletInSql.isAccount('id')} OR NEW.key_held IS NULL THEN limited ELSE NEW.key_held END`
/** Settling a kept hold frees all of it: no share gets the rest. */
const SETTLED_OR_KEPT = `
    UPDATE shares SET amount = amount - NEW.amount
      WHERE process = NEW.process
        AND wallet IN (${walletInSql.account('NEW.account')}, CASE WHEN NEW.key_held = 0 THEN NULL ELSE ${walletInSql.key('NEW.key')} END);
    UPDATE wallets SET balance = balance - NEW.amount, used = used + NEW.amount,
        reserved = reserved - CASE WHEN NEW.process IS NULL THEN NEW.held ELSE NEW.amount END * ${WAS_HELD}
      WHERE id IN (${walletInSql.account('NEW.account')}, ${walletInSql.key('NEW.key')});`
const RELEASED_KEPT = `
    UPDATE wallets SET reserved = reserved - NEW.held * ${WAS_HELD}
      WHERE id IN (${walletInSql.account('NEW.account')}, ${walletInSql.key('NEW.key')});`
const IS_RELEASED_KEPT = "OLD.state = 'open' AND NEW.state = 'released' AND NEW.process IS NULL"

/** The id of the task that a charge is for; null for other calls. */
const TASK = `
  ALTER TABLE charges ADD COLUMN task TEXT;
  CREATE INDEX charges_task ON charges (task) WHERE task IS NOT NULL`

/** Generated owner columns, for statements that join wallets by owner. */
const owners = (kind: 'VIRTUAL' | 'STORED'): string =>
  Object.entries(OWNER_COLUMNS)
    .map(
      ([name, text]) => `
  ALTER TABLE wallets ADD COLUMN ${name} BIGINT GENERATED ALWAYS AS (${text}) ${kind};
  CREATE UNIQUE INDEX wallets_${name} ON wallets (${name})`,
    )
    .join(';')

/** Without table rows: sums of an account's charges (the audit), lists of all accounts by time. */
const COVERING_INDEX = `
  DROP INDEX charges_account;
  CREATE INDEX charges_account ON charges (account, opened, state, amount, serial)`
const TIME_INDEXES = `
  CREATE INDEX charges_opened ON charges (opened, state, amount);
  CREATE INDEX charges_uncollected ON charges (opened) WHERE uncollected > 0`

/** `summed` 1 to 3: the list that wrote the row has added it to `usage_days`. Other rows, as those
 *  of earlier versions beside this one, are added by a trigger. */
const SUMMED = 'ALTER TABLE charges ADD COLUMN summed BIGINT'
const IS_UNSUMMED = "NEW.state = 'settled' AND NEW.summed IS NULL"
const IS_RELEASED = "OLD.state = 'open' AND NEW.state = 'released'"

/** The rows that `tollgate archive` has moved to files. `archives`: the files; `removed`: how many
 *  of their charges the ledger no longer has. `archived_charges`: sums for the balance of accounts,
 *  by the credit that they follow; `archived_days`: for the sums of days; `archived_ids`: 64 bits
 *  of a digest of each request and task. */
const ARCHIVES = `
  CREATE TABLE archives (
    id BIGINT PRIMARY KEY,
    file TEXT UNIQUE,
    before BIGINT NOT NULL,
    owner TEXT NOT NULL,
    digest TEXT,
    charges BIGINT NOT NULL DEFAULT 0,
    amount BIGINT NOT NULL DEFAULT 0,
    removed BIGINT NOT NULL DEFAULT 0,
    at BIGINT NOT NULL);
  CREATE TABLE archived_charges (
    account BIGINT NOT NULL,
    serial BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (account, serial)) WITHOUT ROWID;
  CREATE TABLE archived_days (
    day BIGINT PRIMARY KEY,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    amount BIGINT NOT NULL);
  CREATE TABLE archived_ids (
    id BIGINT PRIMARY KEY,
    account BIGINT NOT NULL,
    archive BIGINT NOT NULL) WITHOUT ROWID`

/** Refunds of charges that are archived: those in the sums of days that no charge has any more. */
const ARCHIVED_REFUNDS = `
  ALTER TABLE archived_days ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
  UPDATE archived_days SET refunded =
    (SELECT coalesce(sum(u.refunded), 0) FROM usage_days u WHERE u.day = archived_days.day)
    - (SELECT coalesce(sum(r.amount), 0) FROM credits r JOIN charges c ON c.request = r.request
       WHERE r.kind = 'refund' AND c.opened / ${DAY} = archived_days.day)`

/** The target that served the call, as JSON: see `views/served-by.ts`. Without a default no store
 *  rewrites the table. */
const SERVED = 'ALTER TABLE charges ADD COLUMN served TEXT'

/** 1: the process of the call was reaped before it closed the charge: see `late-charge.ts`. */
const REAPED = 'ALTER TABLE charges ADD COLUMN reaped BIGINT'

export const migrations: readonly Migration[] = [
  {
    number: 1,
    text: `${TABLES};
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'settled' BEGIN ${SETTLE_WALLETS} END;
  CREATE TRIGGER charges_closed BEFORE UPDATE ON charges
    WHEN OLD.state <> 'open' BEGIN SELECT RAISE(ABORT, 'a closed charge does not change'); END;
  CREATE TRIGGER credits_made AFTER INSERT ON credits BEGIN ${CREDIT_WALLET} END`,
    postgres: `${TABLES};
  CREATE FUNCTION tollgate_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${SETTLE_WALLETS} RETURN NULL; END $$;
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (OLD.state = 'open' AND NEW.state = 'settled') EXECUTE FUNCTION tollgate_settled();
  CREATE FUNCTION tollgate_closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'a closed charge does not change'; END $$;
  CREATE TRIGGER charges_closed BEFORE UPDATE ON charges FOR EACH ROW
    WHEN (OLD.state <> 'open') EXECUTE FUNCTION tollgate_closed();
  CREATE FUNCTION tollgate_credited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${CREDIT_WALLET} RETURN NULL; END $$;
  CREATE TRIGGER credits_made AFTER INSERT ON credits FOR EACH ROW EXECUTE FUNCTION tollgate_credited()`,
  },
  // A charge in one row changes the wallets like the settlement of a hold.
  {
    number: 2,
    text: `CREATE TRIGGER charges_made AFTER INSERT ON charges
    WHEN NEW.state = 'settled' BEGIN ${SETTLE_WALLETS} END`,
    postgres: `CREATE TRIGGER charges_made AFTER INSERT ON charges FOR EACH ROW
    WHEN (NEW.state = 'settled') EXECUTE FUNCTION tollgate_settled()`,
  },
  // Process membership moves to the engine, with the processes of the ledger.
  {
    number: 3,
    text: `INSERT INTO ${PROCESSES_TABLE} (id, beat) SELECT id, 0 FROM ledger_processes;
  DROP TABLE ledger_processes`,
  },
  // Statements with sums replace the trigger of migration 2: see `singleRowCharge`.
  {
    number: 4,
    text: 'DROP TRIGGER charges_made',
    postgres: 'DROP TRIGGER charges_made ON charges',
  },
  { number: 5, text: DEBITS, postgres: DEBITS_ON_POSTGRES },
  {
    number: 6,
    text: `${KEY_HELD};
  DROP TRIGGER charges_settled;
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'settled' BEGIN ${SETTLED_AS_HELD} END`,
    postgres: `${KEY_HELD};
  CREATE OR REPLACE FUNCTION tollgate_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SETTLED_AS_HELD} RETURN NULL; END $$`,
  },
  { number: 7, text: NOTED_COLUMN },
  { number: 8, text: SERIAL },
  { number: 9, text: owners('VIRTUAL'), postgres: owners('STORED') },
  {
    number: 10,
    text: `${KEPT_TABLE};
  CREATE TRIGGER charges_settled AFTER UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'settled' BEGIN ${SETTLED_OR_KEPT} END;
  CREATE TRIGGER charges_released AFTER UPDATE OF state ON charges
    WHEN ${IS_RELEASED_KEPT} BEGIN ${RELEASED_KEPT} END;
  CREATE TRIGGER charges_closed BEFORE UPDATE ON charges
    WHEN OLD.state <> 'open' BEGIN SELECT RAISE(ABORT, 'a closed charge does not change'); END`,
    postgres: `ALTER TABLE charges ALTER COLUMN process DROP NOT NULL;
  CREATE OR REPLACE FUNCTION tollgate_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SETTLED_OR_KEPT} RETURN NULL; END $$;
  CREATE FUNCTION tollgate_released() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${RELEASED_KEPT} RETURN NULL; END $$;
  CREATE TRIGGER charges_released AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_RELEASED_KEPT}) EXECUTE FUNCTION tollgate_released()`,
  },
  { number: 11, text: TASK },
  // Three steps, since each takes minutes with many millions of charges.
  { number: 12, text: COVERING_INDEX },
  { number: 13, text: TIME_INDEXES },
  {
    number: 14,
    text: `${SUMMED};
  ${USAGE_DAYS.sqlite};
  ${BACKFILL.sqlite};
  CREATE TRIGGER charges_inserted AFTER INSERT ON charges
    WHEN ${IS_UNSUMMED} BEGIN ${SUM_SETTLED.sqlite}; END;
  CREATE TRIGGER charges_settled_sum AFTER UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND ${IS_UNSUMMED} BEGIN ${SUM_SETTLED.sqlite}; END;
  CREATE TRIGGER charges_released_sum AFTER UPDATE OF state ON charges
    WHEN ${IS_RELEASED} BEGIN ${sumReleased(byKey)}; END;
  CREATE TRIGGER credits_refunded AFTER INSERT ON credits
    WHEN ${IS_REFUND} BEGIN ${sumRefund(byKey)}; END`,
    // Triggers fire in the order of their names: the wallet is locked before the sum.
    postgres: `LOCK TABLE charges IN SHARE ROW EXCLUSIVE MODE;
  LOCK TABLE credits IN SHARE ROW EXCLUSIVE MODE;
  ${SUMMED};
  ${USAGE_DAYS.postgres};
  ${BACKFILL.postgres};
  CREATE FUNCTION tollgate_sum_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SUM_SETTLED.postgres}; RETURN NULL; END $$;
  CREATE FUNCTION tollgate_sum_released() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${sumReleased(byKey)}; RETURN NULL; END $$;
  CREATE FUNCTION tollgate_sum_refund() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${sumRefund(byKey)}; RETURN NULL; END $$;
  CREATE TRIGGER charges_inserted AFTER INSERT ON charges FOR EACH ROW
    WHEN (${IS_UNSUMMED}) EXECUTE FUNCTION tollgate_sum_settled();
  CREATE TRIGGER charges_settled_sum AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (OLD.state = 'open' AND ${IS_UNSUMMED}) EXECUTE FUNCTION tollgate_sum_settled();
  CREATE TRIGGER charges_released_sum AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_RELEASED}) EXECUTE FUNCTION tollgate_sum_released();
  CREATE TRIGGER credits_refunded AFTER INSERT ON credits FOR EACH ROW
    WHEN (${IS_REFUND}) EXECUTE FUNCTION tollgate_sum_refund()`,
  },
  { number: 15, text: ARCHIVES },
  { number: 16, text: ARCHIVED_REFUNDS },
  { number: 17, text: SERVED },
  { number: 18, text: PAYMENT_TABLES },
  { number: 19, ...BUDGET_TABLES },
  { number: 20, ...OUTPUT_SUMS },
  { number: 21, ...BUDGET_ALERT_TABLES },
  { number: 22, ...BUDGET_ROW_TABLES },
  { number: 23, ...planTables({ settled: SETTLED_OR_KEPT, released: RELEASED_KEPT }) },
  { number: 24, ...TAG_SUMS },
  { number: 25, text: PLAN_PAYMENT_TABLES },
  { number: 26, ...PLAN_CODES },
  { number: 27, text: ROLLOVER_COLUMNS },
  { number: 28, ...CALLER_SUMS },
  { number: 29, ...TOKEN_TABLES },
  { number: 30, ...PLAN_TOKEN_TABLES },
  { number: 31, text: USAGE_TOPS },
  { number: 32, text: REAPED },
]
