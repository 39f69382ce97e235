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
  STORE_POOLER: [
    500,
    'The address of PostgreSQL leads to a pooler that gives each transaction another connection (pool_mode = transaction or statement), which prepared statements and locks of the gateway do not survive: set pool_mode = session for this database, or connect to PostgreSQL directly',
  ],
  STORE_POOL_SIZE: [
    500,
    'PostgreSQL serves %d connections of this gateway and lets the next one wait, and a gateway needs at least %d: is there a pooler with a smaller pool (default_pool_size, max_db_connections)?',
  ],
  STORE_OPTIONS: [
    500,
    'The address of PostgreSQL sets %s in ?options=, which only the start of a connection can set, and the pooler before PostgreSQL does not pass it on: set it by ALTER ROLE … SET or ALTER DATABASE … SET, or connect directly',
  ],
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
  STORE_MOVING: [
    500,
    'This database is the target of an unfinished move; repeat the move: tollgate move --to postgres://…',
  ],
  STORE_MOVED: [
    409,
    'The store %s was moved to %s at %s and is out of use: set settings.database (DATABASE_URL) to the new one. To go on with this one all the same, so that both differ from now on, add --anyway',
  ],
  MOVE_RUNNING: [409, 'another move to this database is running; wait for its end'],
  MOVE_TARGET: [
    409,
    'the target has %d tables already; create an empty database and move into that',
  ],
  MOVE_SOURCE: [
    409,
    'the target holds an unfinished move of %s; repeat that one, or create an empty database',
  ],
  MOVE_FINISHED: [
    409,
    'the store was moved to this database already, at %s; set settings.database',
  ],
  MOVE_VERSION: [
    409,
    'the tables of "%s" in the source come from a plugin or a release that is not installed here; move with the program and the plugins that used the store last',
  ],
  MOVE_TABLE: [
    409,
    'no plugin of this configuration has the table %s, which holds %d rows; add its plugin to the plugin folders, or leave the rows behind: --without %s',
  ],
  MOVE_COLUMNS: [500, 'the table %s has other columns in the target; was it changed by hand?'],
  MOVE_FAILED: [
    500,
    'the table %s could not be copied: %s; the target keeps what was copied, so repeat the move once the cause is gone',
  ],
  MOVE_DIFFERS: [
    500,
    'the table %s differs after the copy: %s is %s in the source and %s in the target; did a gateway run on the source in between? Create an empty database and move again',
  ],
})
