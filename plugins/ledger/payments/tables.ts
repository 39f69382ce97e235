/** Money that comes in by itself. Amounts in nanos, times in ms since 1970. */

/** Payments by the reference of their payer: each is credited once. */
const PAYMENTS = `
  CREATE TABLE payments (
    reference TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    at BIGINT NOT NULL)`

/** Codes that become credit once. `id`: the beginning of the digest, which names it. `account`: who
 *  redeemed it. */
const CODES = `
  CREATE TABLE codes (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    amount BIGINT NOT NULL CHECK (amount > 0),
    note TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    account BIGINT,
    redeemed BIGINT,
    revoked BIGINT,
    CHECK (account IS NULL OR revoked IS NULL))`

/** `plan`: it gives that plan, for the time `lasts`, such as 30d; null: without an end. SQLite
 *  cannot change a constraint of an existing table: this creates the table again. */
export const PLAN_CODES = {
  text: `
  CREATE TABLE codes_anew (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    note TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    account BIGINT,
    redeemed BIGINT,
    revoked BIGINT,
    plan TEXT,
    lasts TEXT,
    CHECK (account IS NULL OR revoked IS NULL),
    CHECK (amount > 0 OR plan IS NOT NULL));
  INSERT INTO codes_anew (id, digest, amount, note, created, expires, account, redeemed, revoked)
    SELECT id, digest, amount, note, created, expires, account, redeemed, revoked FROM codes;
  DROP TABLE codes;
  ALTER TABLE codes_anew RENAME TO codes`,
  postgres: `
  ALTER TABLE codes DROP CONSTRAINT codes_amount_check;
  ALTER TABLE codes ADD COLUMN plan TEXT, ADD COLUMN lasts TEXT,
    ADD CHECK (amount >= 0), ADD CHECK (amount > 0 OR plan IS NOT NULL)`,
}

export const PAYMENT_TABLES = `${PAYMENTS};${CODES}`
