/** Faults of the file endpoints, with the codes of OpenAI's clients. */
import { errors } from '../../engine/errors.ts'

const code = (text: string) => ({ openai: { code: text } })
const file = { param: 'file' }

export const fault = errors({
  FORM_ONLY: [
    415,
    'Unsupported Content-Type: this endpoint accepts multipart/form-data.',
    { headers: { 'accept-post': 'multipart/form-data' } },
  ],
  FORM_UNREADABLE: [400, 'The request body is not a valid multipart form.'],
  FORM_TWICE: [400, "'%s' occurs more than once."],
  FORM_LONG: [400, "'%s' is longer than %d bytes."],
  FORM_FILE: [400, "'%s' is a file, but only 'file' may be one."],

  FIELD_MISSING: [400, "'%s' is a required property"],
  FILE_UNNAMED: [400, "'file' must be a file with a file name.", file],
  FILE_EMPTY: [400, 'File is empty.', file],
  FILE_TOO_LARGE: [
    413,
    'File is too large. The limit is %d bytes.',
    { ...file, as: code('file_too_large') },
  ],
  PURPOSE_INVALID: [400, "'%s' is not one of [%s] - 'purpose'", { param: 'purpose' }],
  FORMAT_INVALID: [400, 'Invalid file format for %s API. Must be .jsonl', file],
  EXTENSION_INVALID: [
    400,
    'Files with extensions [%s] are not supported for %s. Supported extensions: [%s].',
    file,
  ],
  IMAGE_INVALID: [
    400,
    'The content of the file is not an image of the type [%s].',
    { ...file, as: code('invalid_image') },
  ],
  LINE_INVALID: [
    400,
    'Expected file to have JSONL format, where every line is a valid JSON dictionary. Line %d is %s.',
    { ...file, as: code('invalid_jsonl') },
  ],
  EXPIRY_MISSING: [
    400,
    "Missing required parameter: '%s'.",
    { as: code('missing_required_parameter') },
  ],
  EXPIRY_ANCHOR: [
    400,
    "Invalid value: '%s'. Supported values are: 'created_at'.",
    { param: 'expires_after[anchor]', as: code('invalid_value') },
  ],

  UPLOAD_UNKNOWN: [404, 'No such Upload object: %s', { param: 'upload_id' }],
  UPLOAD_ENDED: [400, "The upload takes no more parts: its status is '%s'."],
  UPLOAD_BYTES: [400, 'The parts have %d bytes; the upload was created for %d.'],
  UPLOAD_MD5: [400, 'The parts do not have the MD5 of the request.', { param: 'md5' }],
  PART_UNKNOWN: [400, "The upload has no part '%s'.", { param: 'part_ids' }],
  PART_TOO_LARGE: [413, 'The part is too large. The limit is %d bytes.', { param: 'data' }],
  FORM_FILE_ONLY: [400, "'%s' is unknown: a part has the member 'data' only."],

  LIST_PURPOSE: [400, 'Invalid purpose: %s. Must be one of: (%s)', { param: 'purpose' }],

  LINK_INVALID: [403, 'This link has expired, or it is not a link of this service.'],
})
