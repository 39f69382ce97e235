/** The tables of notifications, and the trigger by which a balance that falls below its account's threshold is noted in
 *  the transaction that lowers it: whoever lowers it, and however the process ends afterwards. */
import type { Migration } from '../../engine/plugin.ts'
import { whenBalanceFalls } from '../ledger/views/wallets.ts'
import { SLOW, TABLES } from '../webhooks/tables.ts'

/** An account's endpoint has the account's number. `threshold`: nanos; `noted`: when its last event entered the outbox,
 *  ms. A crossing that waits takes up those after it: one row an account. */
const OWN = `${TABLES};
  CREATE TABLE notification_settings (account BIGINT PRIMARY KEY, threshold BIGINT, noted BIGINT);
  CREATE TABLE notification_crossings (
    account BIGINT PRIMARY KEY,
    balance BIGINT NOT NULL,
    at BIGINT NOT NULL)`

const CROSSED_V1 = (now: string) => `
    INSERT INTO notification_crossings (account, balance, at)
      SELECT account, NEW.balance, ${now} FROM notification_settings
      WHERE account = NEW.id / 2 AND threshold > NEW.balance AND threshold <= OLD.balance
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at;`
// As it was first: what has been applied keeps its text.
const WHEN = 'NEW.balance < OLD.balance AND NEW.id % 2 = 0'

/** By what the ledger tells of a balance that falls. */
const CROSSED = (now: string): string => `
    INSERT INTO notification_crossings (account, balance, at)
      SELECT account, NEW.balance, ${now} FROM notification_settings
      WHERE account = NEW.account AND threshold > NEW.balance AND threshold <= OLD.balance
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at`

export const migrations: readonly Migration[] = [
  {
    number: 1,
    text: `${OWN};
  CREATE TRIGGER wallets_crossed AFTER UPDATE OF balance ON wallets
    WHEN ${WHEN} BEGIN ${CROSSED_V1("CAST(unixepoch('subsec') * 1000 AS INTEGER)")} END`,
    postgres: `${OWN};
  CREATE FUNCTION tollgate_crossed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${CROSSED_V1('CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)')} RETURN NULL; END $$;
  CREATE TRIGGER wallets_crossed AFTER UPDATE OF balance ON wallets FOR EACH ROW
    WHEN (${WHEN}) EXECUTE FUNCTION tollgate_crossed()`,
  },
  { number: 2, text: SLOW },
  {
    number: 3,
    ...whenBalanceFalls({ name: 'wallets_crossed', call: 'tollgate_crossed' }, CROSSED),
  },
]
