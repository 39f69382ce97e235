/** The tables of notifications, and the trigger that records a balance below its threshold in the
 *  transaction that lowers it, so that no crash can lose a crossing. */
import type { Migration } from '../../engine/plugin.ts'
import { whenBalanceFalls } from '../ledger/views/wallets.ts'
import { ACCOUNT_MAILS, SLOW, TABLES } from '../webhooks/tables.ts'

/** An endpoint has the number of its account. `threshold`: nanos; `noted`: the time of the last
 *  event, ms. An account has one pending crossing; a later crossing replaces it. */
const OWN = `${TABLES};
  CREATE TABLE notification_settings (account BIGINT PRIMARY KEY, threshold BIGINT, noted BIGINT);
  CREATE TABLE notification_crossings (
    account BIGINT PRIMARY KEY,
    balance BIGINT NOT NULL,
    at BIGINT NOT NULL)`

const CROSSING_UPDATE_V1 = (now: string) => `
    INSERT INTO notification_crossings (account, balance, at)
      SELECT account, NEW.balance, ${now} FROM notification_settings
      WHERE account = NEW.id / 2 AND threshold > NEW.balance AND threshold <= OLD.balance
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at;`
// Used by migration 1 only: the text of an applied migration must not change.
const WHEN = 'NEW.balance < OLD.balance AND NEW.id % 2 = 0'

/** The trigger body on the ledger's view of a falling balance. */
const CROSSING_UPDATE = (now: string): string => `
    INSERT INTO notification_crossings (account, balance, at)
      SELECT account, NEW.balance, ${now} FROM notification_settings
      WHERE account = NEW.account AND threshold > NEW.balance AND threshold <= OLD.balance
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at`

/** Which receivers a crossing is for: 1 or 0. A balance that falls is for all. */
const RECEIVERS = `ALTER TABLE notification_crossings ADD COLUMN webhook BIGINT NOT NULL DEFAULT 1;
  ALTER TABLE notification_crossings ADD COLUMN mail BIGINT NOT NULL DEFAULT 1`
const CROSSING_OF_ALL = (now: string): string => `${CROSSING_UPDATE(now)}, webhook = 1, mail = 1`

export const migrations: readonly Migration[] = [
  {
    number: 1,
    text: `${OWN};
  CREATE TRIGGER wallets_crossed AFTER UPDATE OF balance ON wallets
    WHEN ${WHEN} BEGIN ${CROSSING_UPDATE_V1("CAST(unixepoch('subsec') * 1000 AS INTEGER)")} END`,
    postgres: `${OWN};
  CREATE FUNCTION tollgate_crossed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${CROSSING_UPDATE_V1('CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)')} RETURN NULL; END $$;
  CREATE TRIGGER wallets_crossed AFTER UPDATE OF balance ON wallets FOR EACH ROW
    WHEN (${WHEN}) EXECUTE FUNCTION tollgate_crossed()`,
  },
  { number: 2, text: SLOW },
  {
    number: 3,
    ...whenBalanceFalls({ name: 'wallets_crossed', call: 'tollgate_crossed' }, CROSSING_UPDATE),
  },
  { number: 4, text: `${ACCOUNT_MAILS};\n  ${RECEIVERS}` },
  {
    number: 5,
    ...whenBalanceFalls({ name: 'wallets_crossed', call: 'tollgate_crossed' }, CROSSING_OF_ALL),
  },
]
