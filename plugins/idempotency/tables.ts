/** The tables of Idempotency-Keys: claims and stored responses. */
import type { Migration } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'

/** A claim belongs to a process until its response is stored. The statement that reaps a process
 *  deletes its claims too, and a reaped process cannot claim keys. */
const TABLES = `
  CREATE TABLE idempotency_processes (id TEXT PRIMARY KEY, beat BIGINT NOT NULL);
  CREATE TABLE idempotency_keys (
    account BIGINT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL UNIQUE,
    process TEXT CONSTRAINT idempotency_owner REFERENCES idempotency_processes (id) ON DELETE CASCADE,
    body TEXT NOT NULL,
    claimed BIGINT NOT NULL,
    status BIGINT,
    headers TEXT,
    reply BLOB,
    PRIMARY KEY (account, route, key));
  CREATE INDEX idempotency_open ON idempotency_keys (process) WHERE process IS NOT NULL;
  CREATE INDEX idempotency_age ON idempotency_keys (claimed)`

/** Process membership moves to the engine. Open claims of older processes are void. */
const ENGINE = `
  DELETE FROM idempotency_keys WHERE process IS NOT NULL;
  CREATE TABLE idempotency_claims (
    account BIGINT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL UNIQUE,
    process TEXT CONSTRAINT idempotency_owner REFERENCES ${PROCESSES_TABLE} (id) ON DELETE CASCADE,
    body TEXT NOT NULL,
    claimed BIGINT NOT NULL,
    status BIGINT,
    headers TEXT,
    reply BLOB,
    PRIMARY KEY (account, route, key));
  INSERT INTO idempotency_claims SELECT * FROM idempotency_keys;
  DROP TABLE idempotency_keys;
  ALTER TABLE idempotency_claims RENAME TO idempotency_keys;
  CREATE INDEX idempotency_open ON idempotency_keys (process) WHERE process IS NOT NULL;
  CREATE INDEX idempotency_age ON idempotency_keys (claimed);
  DROP TABLE idempotency_processes`
const ENGINE_POSTGRES = `
  DELETE FROM idempotency_keys WHERE process IS NOT NULL;
  ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_owner,
    ADD CONSTRAINT idempotency_owner FOREIGN KEY (process) REFERENCES ${PROCESSES_TABLE} (id) ON DELETE CASCADE;
  DROP TABLE idempotency_processes`

/** 1: another request has got the response, so that its effects stay. */
const REPLAYED = 'ALTER TABLE idempotency_keys ADD COLUMN replayed BIGINT NOT NULL DEFAULT 0'

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLES },
  { number: 2, text: ENGINE, postgres: ENGINE_POSTGRES },
  { number: 3, text: REPLAYED },
]
