/** The tables of durable tasks. Times in ms since 1970; JSON in texts. */
import type { Migration } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { REQUEST_TABLES } from './requests/tables.ts'

/** `request`: the call that created it, which is also the id of its charge; `path`: of that call.
 *  `body`: empty, or the request of a task of an earlier version. `slots`, `target`: what a resumed
 *  call needs. `hold`: null on a free route. `due`: when the runner looks at it next; null if
 *  nothing is left to do. `process`: the process that works on it now; reaping that process sets
 *  the column to null. */
const TABLES = `
  CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    key BIGINT,
    request TEXT NOT NULL UNIQUE,
    route TEXT NOT NULL,
    path TEXT NOT NULL,
    model TEXT NOT NULL,
    version BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
      ('accepted', 'submitting', 'submitted', 'running', 'unknown', 'succeeded', 'failed')),
    body TEXT NOT NULL,
    slots TEXT NOT NULL,
    target TEXT NOT NULL,
    hold TEXT,
    upstream_id TEXT,
    attempts BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,
    progress BIGINT NOT NULL DEFAULT 0,
    error TEXT,
    results TEXT,
    created BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    due BIGINT,
    process TEXT CONSTRAINT task_owner REFERENCES ${PROCESSES_TABLE} (id) ON DELETE SET NULL);
  CREATE INDEX tasks_due ON tasks (due) WHERE due IS NOT NULL;
  CREATE INDEX tasks_account ON tasks (account, created);
  CREATE INDEX tasks_process ON tasks (process) WHERE process IS NOT NULL;
  CREATE INDEX tasks_expires ON tasks (expires)`

/** `callback`: where the states are announced, and in which dialect. `callback_key`: the API key
 *  that signs, encrypted; null after the last delivery. `topic`: the announced state, in the word
 *  of the dialect. `receiver`: its deliveries are sent one after another. `last`: the number of the
 *  last attempt. */
const CALLBACKS = `
  ALTER TABLE tasks ADD COLUMN callback TEXT;
  ALTER TABLE tasks ADD COLUMN callback_key TEXT;
  CREATE TABLE task_callbacks (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    topic TEXT NOT NULL,
    receiver TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'superseded')),
    attempts BIGINT NOT NULL DEFAULT 0,
    last BIGINT NOT NULL,
    due BIGINT NOT NULL,
    created BIGINT NOT NULL,
    outcome TEXT,
    status BIGINT,
    UNIQUE (task, topic));
  CREATE INDEX task_callbacks_due ON task_callbacks (due, receiver) WHERE state = 'pending';
  CREATE INDEX task_callbacks_turn ON task_callbacks (receiver, due, id) WHERE state = 'pending'`

/** 1 if the task succeeded after it had failed by its deadline. */
const LATE = 'ALTER TABLE tasks ADD COLUMN late BIGINT NOT NULL DEFAULT 0'

/** `upstream`: that of `target`. `warned`: when operators were last reminded of a task in the
 *  state `unknown`. No task is submitted to a paused upstream. */
const PAUSES = `
  ALTER TABLE tasks ADD COLUMN upstream TEXT NOT NULL DEFAULT '';
  ALTER TABLE tasks ADD COLUMN warned BIGINT;
  CREATE INDEX tasks_unknown ON tasks (route) WHERE state = 'unknown';
  CREATE TABLE task_pauses (upstream TEXT PRIMARY KEY, since BIGINT NOT NULL)`

/** `is_call`: 1 where the upstream answers the call itself, which may take minutes: such tasks are
 *  claimed apart from the others. */
const CALLS = `
  ALTER TABLE tasks ADD COLUMN is_call BIGINT NOT NULL DEFAULT 0;
  DROP INDEX tasks_due;
  CREATE INDEX tasks_due ON tasks (is_call, due) WHERE due IS NOT NULL`

/** `copies`: files of the results in the file store. `copy_due`: when its results are copied next;
 *  null if there is nothing to copy. */
const COPIES = `
  ALTER TABLE tasks ADD COLUMN copies TEXT;
  ALTER TABLE tasks ADD COLUMN copy_due BIGINT;
  CREATE INDEX tasks_copy_due ON tasks (copy_due) WHERE copy_due IS NOT NULL`

/** That of the create; null for calls. */
const DIALECT = 'ALTER TABLE tasks ADD COLUMN dialect TEXT'

/** The time of its latest submit. */
const STARTED = 'ALTER TABLE tasks ADD COLUMN started BIGINT'

/** `mode`: the group that shares a limit; null on a route without one. `waiting`: since when it
 *  waits for room in its mode; null if it need not wait. */
const MODES = `
  ALTER TABLE tasks ADD COLUMN mode TEXT;
  ALTER TABLE tasks ADD COLUMN waiting BIGINT;
  CREATE INDEX tasks_mode ON tasks (mode, waiting, copy_due, state, deadline)
    WHERE mode IS NOT NULL AND state NOT IN ('succeeded', 'failed');
  CREATE INDEX tasks_mode_done ON tasks (mode, changed)
    WHERE mode IS NOT NULL AND state = 'succeeded'`

/** The results that the upstream of a finished task reports, JSON. */
const REPORTED = 'ALTER TABLE tasks ADD COLUMN reported TEXT'

/** When its upstream was last asked again for the links of its results. */
const REFRESHED = 'ALTER TABLE tasks ADD COLUMN refreshed BIGINT'

/** `result`: the id that a result has at its provider, by which a later request may name it. */
const RESULTS = `
  CREATE TABLE task_results (
    result TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (result, task));
  CREATE INDEX task_results_task ON task_results (task)`
const ADD_RESULTS = `INSERT INTO task_results (result, task)
  SELECT DISTINCT json_extract(r.value, '$.id'), t.id FROM tasks t, json_each(t.results) r
  WHERE t.state = 'succeeded' AND r.type = 'object' AND json_type(r.value, '$.id') = 'text'`
const ADD_RESULTS_POSTGRES = `INSERT INTO task_results (result, task)
  SELECT DISTINCT r->>'id', t.id FROM tasks t, json_array_elements(CAST(t.results AS json)) r
  WHERE t.state = 'succeeded' AND json_typeof(r) = 'object' AND json_typeof(r->'id') = 'string'`

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLES },
  { number: 2, text: CALLBACKS },
  { number: 3, text: LATE },
  {
    number: 4,
    text: `${PAUSES}; UPDATE tasks SET upstream = json_extract(target, '$.upstream')`,
    postgres: `${PAUSES}; UPDATE tasks SET upstream = CAST(target AS json)->>'upstream'`,
  },
  { number: 5, text: CALLS },
  { number: 6, text: COPIES },
  { number: 7, text: `${DIALECT}; UPDATE tasks SET dialect = 'vidu' WHERE is_call = 0` },
  { number: 8, text: STARTED },
  { number: 9, text: MODES },
  { number: 10, text: REQUEST_TABLES },
  { number: 11, text: REPORTED },
  { number: 12, text: REFRESHED },
  {
    number: 13,
    text: `${RESULTS}; ${ADD_RESULTS}`,
    postgres: `${RESULTS}; ${ADD_RESULTS_POSTGRES}`,
  },
]
