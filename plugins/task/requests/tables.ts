/** The tables of the requests of tasks, which are apart from the rows that polls change. */

/** `summary`: the request as lists show it, at most 16 KiB. `whole`: the same with its texts uncut,
 *  where the summary cuts some. `meters`: what the request orders, JSON; null on a free route.
 *  `parts`: the pieces of the request in `task_request_parts`; 0 where the summary is the request.
 *  The pieces are written before the row of their task, and deleted once the upstream has it.
 *  `tasks_unsplit`: tasks of earlier versions, whose rows have a body. */
export const REQUEST_TABLES = `
  CREATE TABLE task_requests (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    summary TEXT NOT NULL,
    whole TEXT,
    meters TEXT,
    parts BIGINT NOT NULL);
  CREATE TABLE task_request_parts (
    task TEXT NOT NULL,
    part BIGINT NOT NULL,
    created BIGINT NOT NULL,
    piece TEXT NOT NULL,
    PRIMARY KEY (task, part));
  CREATE TABLE tasks_unsplit (id TEXT PRIMARY KEY);
  INSERT INTO tasks_unsplit (id) SELECT id FROM tasks`
