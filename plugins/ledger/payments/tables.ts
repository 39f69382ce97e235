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

export const PAYMENT_TABLES = `${PAYMENTS};${CODES}`
