/** The tables of calls: what is kept of them beside their charges. Times in ms since 1970. */
import type { Migration } from '../../engine/plugin.ts'
import { CALL_PARTS, CALL_SUMS, FAILED_OF_CALLERS, TAG_TIMES } from './sum-statements.ts'

/** `account` 0: the call had no valid credential. `omitted`: failed calls of the account since its
 *  row before that are not kept. `attempts`: JSON, for operators. `bytes`: of the texts. `cost`:
 *  nanos. */
const FAILED_CALLS = `
  CREATE TABLE failed_calls (
    request TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    account BIGINT NOT NULL,
    key BIGINT,
    route TEXT NOT NULL,
    model TEXT NOT NULL,
    status BIGINT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    ms BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    attempts TEXT NOT NULL,
    omitted BIGINT NOT NULL,
    bytes BIGINT NOT NULL);
  CREATE INDEX failed_calls_account ON failed_calls (account, at, request);
  CREATE INDEX failed_calls_at ON failed_calls (at, request, bytes)`

/** `member` 0: the account itself; null: an earlier version wrote the row. */
const MEMBER = 'ALTER TABLE failed_calls ADD COLUMN member BIGINT'

export const migrations: readonly Migration[] = [
  { number: 1, text: FAILED_CALLS },
  { number: 2, text: CALL_SUMS },
  { number: 3, text: MEMBER },
  { number: 4, text: CALL_PARTS },
  { number: 5, text: FAILED_OF_CALLERS },
  { number: 6, text: TAG_TIMES },
]
