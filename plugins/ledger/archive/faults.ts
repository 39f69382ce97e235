/** Errors of the archive. */
import { errors } from '../../../engine/errors.ts'

export const fault = errors({
  ARCHIVE_RUNNING: [409, 'Another `tollgate archive` is at work on this ledger; wait for its end'],
  ARCHIVE_FILE: [
    409,
    'The unfinished archive file %s cannot be used: %s. Put it back, or name its folder with --to',
  ],
  ARCHIVE_UNKNOWN: [404, 'The ledger has recorded no archive file "%s"'],
  ARCHIVE_RECENT: [
    400,
    '--before must be a date such as 2026-01-31 that is at least %d days ago: later charges may still be refunded or corrected',
  ],
})
