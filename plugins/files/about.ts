/** Descriptions of the file endpoints for clients. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { PURPOSES } from '../file-store/settings.ts'
import { FILE } from '../rows/work.ts'
import {
  between,
  binary,
  boolean,
  constant,
  integer,
  json,
  nullable,
  object,
  oneOf,
  pageOf,
  query,
  text,
} from '../shapes.ts'

const bytes = { '*/*': binary }
const form = object(
  { file: binary, purpose: oneOf(...PURPOSES) },
  {
    'expires_after[anchor]': constant('created_at'),
    'expires_after[seconds]': integer,
  },
)

const upload = object({
  id: text,
  object: constant('upload'),
  bytes: integer,
  created_at: integer,
  expires_at: integer,
  filename: text,
  purpose: text,
  status: oneOf('pending', 'completed', 'cancelled', 'expired'),
  file: nullable(FILE),
})
const UPLOADS: Readonly<Record<string, RouteDescription>> = {
  'create-upload': { summary: 'Begins a file that arrives in parts', responses: json(upload) },
  'add-part': {
    summary: 'Adds a part to a file',
    body: { 'multipart/form-data': object({ data: binary }) },
    responses: json(
      object({ id: text, object: constant('upload.part'), created_at: integer, upload_id: text }),
    ),
  },
  'complete-upload': { summary: 'Stores the file of the parts', responses: json(upload) },
  'cancel-upload': { summary: 'Cancels a file that arrives in parts', responses: json(upload) },
}
export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  ...UPLOADS,
  upload: {
    summary: 'Stores a file',
    body: { 'multipart/form-data': form },
    responses: json(FILE),
  },
  list: {
    summary: 'Lists the stored files',
    responses: json(pageOf(FILE)),
    parameters: [
      query('purpose', 'Only files of this purpose'),
      query('limit', 'The number of files, from 1 to 10,000', between(1, 10_000)),
      query('order', 'The latest first by default', oneOf('asc', 'desc')),
      query('after', '`last_id` of the page before'),
    ],
  },
  show: { summary: 'Shows a stored file', responses: json(FILE) },
  delete: {
    summary: 'Deletes a stored file',
    responses: json(object({ id: text, object: constant('file'), deleted: boolean })),
  },
  content: { summary: 'Sends the bytes of a stored file', responses: bytes },
  signed: {
    summary: 'Sends the bytes of a file by a signed URL, which is its own credential',
    responses: bytes,
    parameters: [],
  },
}
