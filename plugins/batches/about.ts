/** What clients are told of the endpoints over batches. */
import type { RouteDescription } from '../../engine/plugin.ts'
import {
  constant,
  described,
  fields,
  integer,
  json,
  list,
  nullable,
  nullables,
  object,
  oneOf,
  pageOf,
  query,
  text,
} from '../shapes.ts'
import { STATES } from './batch.ts'

const batch = object({
  id: text,
  object: constant('batch'),
  endpoint: text,
  errors: nullable(object({ object: constant('list'), data: list(fields) })),
  input_file_id: text,
  completion_window: text,
  status: oneOf(...STATES),
  created_at: integer,
  request_counts: object({ total: integer, completed: integer, failed: integer }),
  metadata: nullable(fields),
  ...nullables('output_file_id', 'error_file_id')(text),
  ...nullables(
    'in_progress_at',
    'expires_at',
    'finalizing_at',
    'completed_at',
    'failed_at',
    'expired_at',
    'cancelling_at',
    'cancelled_at',
  )(integer),
})

export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  create: { summary: 'Runs a file of requests', responses: json(batch) },
  show: { summary: 'Shows a batch', responses: json(batch) },
  list: {
    summary: 'Lists the batches, the latest first',
    responses: json(pageOf(batch)),
    parameters: [
      query('limit', 'The number of batches, from 1 to 100; 20 by default', integer),
      query('after', '`last_id` of the page before'),
    ],
  },
  events: {
    summary: 'Reports changes of the batches of the account as they happen',
    responses: { 'text/event-stream': described('Events with the changed rows', text) },
  },
  cancel: { summary: 'Cancels a batch; its requests under way end', responses: json(batch) },
}
