/** The tables of batches. Times in ms since 1970; JSON in texts. */
import type { Migration } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'

/** `slots`: the account and key of the create, which its lines are charged to. `times`: of the
 *  states, as clients see them. `ending`: the state that the batch ends in, once it is known.
 *  `completed`, `failed`: lines with an outcome, counted in the transaction of each.
 *  `output_file`, `error_file`: reserved before they are written.
 *  `start`, `size`: the bytes of a line in the input file. `outcome`: the line of the output or
 *  error file; `ok`: which of them. `waits`: the attempts that a limit or a busy upstream ended.
 *  `due`: when the line may be sent, if its batch is in progress; null after its outcome.
 *  `process`: the process that works on it now; reaping that process sets the
 *  column to null. */
const TABLES = `
  CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    slots TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    route TEXT NOT NULL,
    input_file TEXT NOT NULL,
    metadata TEXT,
    output_lifetime BIGINT,
    state TEXT NOT NULL CHECK (state IN ('validating', 'in_progress', 'finalizing', 'cancelling',
      'completed', 'failed', 'cancelled', 'expired')),
    ending TEXT,
    times TEXT NOT NULL,
    errors TEXT,
    total BIGINT NOT NULL DEFAULT 0,
    completed BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    output_file TEXT,
    error_file TEXT,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL);
  CREATE INDEX batches_account ON batches (account, created, id);
  CREATE INDEX batches_open ON batches (created)
    WHERE state IN ('validating', 'in_progress', 'finalizing', 'cancelling');
  CREATE TABLE batch_lines (
    batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    line BIGINT NOT NULL,
    custom_id TEXT NOT NULL,
    start BIGINT NOT NULL,
    size BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    waits BIGINT NOT NULL DEFAULT 0,
    due BIGINT,
    outcome TEXT,
    ok BIGINT,
    process TEXT CONSTRAINT batch_line_owner REFERENCES ${PROCESSES_TABLE} (id) ON DELETE SET NULL,
    PRIMARY KEY (batch, line));
  CREATE INDEX batch_lines_waiting ON batch_lines (line) WHERE due IS NOT NULL AND process IS NULL;
  CREATE INDEX batch_lines_open ON batch_lines (batch) WHERE due IS NOT NULL;
  CREATE INDEX batch_lines_process ON batch_lines (process) WHERE process IS NOT NULL`

/** Counters of batches that were running when the lines were still counted at each query. */
const COUNTERS = `
  UPDATE batches SET
    completed = (SELECT count(*) FROM batch_lines WHERE batch = batches.id AND ok = 1),
    failed = (SELECT count(*) FROM batch_lines WHERE batch = batches.id AND ok = 0)
  WHERE state IN ('in_progress', 'cancelling')`

/** The process that holds the batch back until its client is answered. */
const OWNER = `ALTER TABLE batches ADD COLUMN process TEXT
  CONSTRAINT batch_owner REFERENCES ${PROCESSES_TABLE} (id) ON DELETE SET NULL`

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLES },
  { number: 2, text: COUNTERS },
  { number: 3, text: OWNER },
]
