/** Tables of stored responses, conversations and their turns. */
import type { Migration } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'

/** A background response in progress belongs to a process. Reaping that process sets the column to
 *  NULL: another process then runs its stored call again. */
const TABLES = `
  CREATE TABLE stored_responses (
    account BIGINT NOT NULL,
    id TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    previous TEXT,
    conversation TEXT,
    status TEXT NOT NULL,
    process TEXT CONSTRAINT stored_owner REFERENCES ${PROCESSES_TABLE} (id) ON DELETE SET NULL,
    input TEXT NOT NULL,
    response TEXT NOT NULL,
    PRIMARY KEY (account, id));
  CREATE INDEX stored_age ON stored_responses (expires);
  CREATE INDEX stored_running ON stored_responses (process) WHERE process IS NOT NULL;
  CREATE TABLE stored_conversations (
    account BIGINT NOT NULL,
    id TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (account, id));
  CREATE INDEX stored_conversations_age ON stored_conversations (expires);
  CREATE TABLE stored_turns (
    account BIGINT NOT NULL,
    conversation TEXT NOT NULL,
    created BIGINT NOT NULL,
    id TEXT NOT NULL,
    items TEXT NOT NULL,
    PRIMARY KEY (account, conversation, created, id))`

/** Index of output items by the ids that upstreams gave them. */
const ITEMS = `
  CREATE TABLE stored_items (
    account BIGINT NOT NULL,
    id TEXT NOT NULL,
    response TEXT NOT NULL,
    PRIMARY KEY (account, id, response),
    FOREIGN KEY (account, response) REFERENCES stored_responses (account, id) ON DELETE CASCADE);
  CREATE INDEX stored_items_owner ON stored_items (account, response);
  CREATE INDEX stored_turns_name ON stored_turns (account, id)`

/** The call of an unfinished background response: JSON. `attempts`: how often it was begun. */
const CALLS = `
  CREATE TABLE stored_calls (
    account BIGINT NOT NULL,
    response TEXT NOT NULL,
    call TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (account, response),
    FOREIGN KEY (account, response) REFERENCES stored_responses (account, id) ON DELETE CASCADE)`

/** The request of a background response: its `input`, and the `body` of its call, each as JSON in
 *  pieces. Its row, which changes with its state, has an empty input. A row with the status `begun`
 *  has no call yet: its pieces are being written. */
const PARTS = `
  CREATE TABLE stored_response_parts (
    account BIGINT NOT NULL,
    response TEXT NOT NULL,
    name TEXT NOT NULL,
    part BIGINT NOT NULL,
    piece TEXT NOT NULL,
    PRIMARY KEY (account, response, name, part),
    FOREIGN KEY (account, response) REFERENCES stored_responses (account, id) ON DELETE CASCADE);
  CREATE INDEX stored_begun ON stored_responses (account) WHERE status = 'begun';
  INSERT INTO stored_response_parts (account, response, name, part, piece)
    SELECT account, id, 'input', 0, input FROM stored_responses WHERE status = 'in_progress';
  UPDATE stored_responses SET input = '' WHERE status = 'in_progress'`

/** Who made it: a key, or the member of a session; null: the account, or an earlier release. */
const MAKERS = `
  ALTER TABLE stored_responses ADD COLUMN key BIGINT;
  ALTER TABLE stored_responses ADD COLUMN member BIGINT;
  ALTER TABLE stored_conversations ADD COLUMN key BIGINT;
  ALTER TABLE stored_conversations ADD COLUMN member BIGINT`

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLES },
  { number: 2, text: ITEMS },
  { number: 3, text: CALLS },
  { number: 4, text: PARTS },
  { number: 5, text: MAKERS },
]
