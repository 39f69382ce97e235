/** The tables of files: one row a file, and what each account stores. Times in ms since 1970. */
import type { Migration } from '../../engine/plugin.ts'

/** `type`: media type. `expires`: null if the file stays until it is deleted. */
const TABLES = `
  CREATE TABLE stored_files (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    purpose TEXT NOT NULL,
    filename TEXT NOT NULL,
    type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT);
  CREATE INDEX stored_files_account ON stored_files (account, created, id);
  CREATE INDEX stored_files_expires ON stored_files (expires) WHERE expires IS NOT NULL;
  CREATE TABLE file_usage (
    account BIGINT PRIMARY KEY,
    files BIGINT NOT NULL,
    bytes BIGINT NOT NULL)`

/** Files that arrive in parts. The parts are stored files of their own until they expire.
 *  `lifetime`: ms that the file is kept; null: as usual. `file`: once it is complete. */
const UPLOADS = `
  CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    purpose TEXT NOT NULL,
    filename TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    lifetime BIGINT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'completed', 'cancelled')),
    file TEXT,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL);
  CREATE INDEX uploads_created ON uploads (created)`

/** Who made a file: a key, or the member of a session; null: the account, or an earlier release. */
const MAKERS = `
  ALTER TABLE stored_files ADD COLUMN key BIGINT;
  ALTER TABLE stored_files ADD COLUMN member BIGINT;
  ALTER TABLE uploads ADD COLUMN key BIGINT;
  ALTER TABLE uploads ADD COLUMN member BIGINT`

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLES },
  { number: 2, text: UPLOADS },
  { number: 3, text: MAKERS },
]
