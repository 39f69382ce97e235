/** Faults of stored files. */
import { errors } from '../../engine/errors.ts'

const invalidField = { as: { vidu: { type: 'FieldInvalid' } } }

export const fault = errors({
  FILE_LOST: [
    500,
    'the bytes of the file %s are not in the file store; with several machines, all need one store (docs/files.md)',
    { expose: false },
  ],
  STORAGE_FULL: [
    503,
    'The file storage is full. Try again later.',
    { headers: { 'retry-after': '60' } },
  ],
  /** The cause is a text for the log. */
  STORAGE_FAILED: [
    503,
    'The file storage did not answer. Try again later.',
    { headers: { 'retry-after': '5' } },
  ],
  FILE_QUOTA: [
    403,
    'This account may store %s. Delete files that are not needed any more.',
    { as: { openai: { type: 'insufficient_quota', code: 'file_quota_exceeded' } } },
  ],
  FILE_TOO_LONG: [502, 'a file for the file store is longer than %d bytes', { expose: false }],
  RANGE_UNSATISFIABLE: [416, 'The requested range is not within the %d bytes of the file.'],
  FILE_UNKNOWN: [404, 'No such File object: %s', { param: 'id' }],

  // Files that a request names. The first argument is the place.
  FILE_NOT_FOUND: [
    404,
    "'%s': no such file: %s",
    { as: { vidu: { type: 'FieldInvalid', status: 400 } } },
  ],
  FILE_NO_IMAGE: [400, "'%s': the file %s is not an image; its type is %s.", invalidField],
  FILE_NOT_HERE: [400, "'%s': a stored file cannot be used here.", invalidField],
  FILES_TOO_LARGE: [
    413,
    "'%s': the files of a request may have %d bytes in total, encoded as base64.",
    invalidField,
  ],
})
