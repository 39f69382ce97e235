/** The faults of the store, one row each. */
import { errors } from '../errors.ts'

export const fault = errors({
  STORE_UNAVAILABLE: [
    503,
    'Database unavailable; the request was not processed. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
  STORE_UNKNOWN: [
    503,
    'The database did not confirm the request. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
  STORE_EXPECTATION: [500, 'Statement "%s" affected %s rows, but %s were expected'],
  STORE_VIOLATION: [500, 'Statement "%s" violated the constraint %s'],
  STORE_STATEMENT: [500, 'Statement "%s" failed: %s'],
  STORE_VALUE: [
    500,
    '%s cannot be stored: use text, bytes, a finite number, or a bigint beyond 2^53',
  ],
  STORE_MIGRATION: [500, '%s'],
  STORE_COPY: [500, 'The copy %s is damaged: %s'],
  STORE_START: [500, 'The store could not start: %s'],
  STORE_URL: [
    500,
    'The database "%s" is not supported; write sqlite:, sqlite:path/to/file.db or postgres://user@host/name',
  ],
  STORE_POSTGRES: [500, 'PostgreSQL needs no writer process; this one serves sqlite: only'],
  STORE_POSTGRES_OLD: [500, 'PostgreSQL %s is too old: 13 or newer is needed'],
  STORE_FSYNC: [
    500,
    'PostgreSQL runs with fsync = %s where on is needed, so an acknowledged write could be lost',
  ],
  STORE_READ_ONLY: [
    503,
    'Database read-only (a standby, or set so); the request was not processed. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
  STORE_NEWER: [
    500,
    'The store is newer than this program: its tables have version %d, and this release supports %d; start the newer release',
  ],
  STORE_FOLDER: [
    500,
    "The folder %s for the writer's socket belongs to another user or is accessible to others; set TMPDIR to a folder of your own",
  ],
  STORE_SQLITE_OLD: [
    500,
    'SQLite %s is too old: %s or newer is needed; Node 24.18.1 and later include it',
  ],
  STORE_PRAGMA: [
    500,
    'SQLite runs with %s = %s where %s is needed, so an acknowledged write could be lost; is the database on a network file system?',
  ],
})
