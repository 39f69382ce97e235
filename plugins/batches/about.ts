/** Descriptions of the batch endpoints for clients. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { BATCH } from '../rows/work.ts'
import {
  between,
  boolean,
  constant,
  described,
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

const messageBatch = object({
  id: text,
  type: constant('message_batch'),
  processing_status: oneOf('in_progress', 'canceling', 'ended'),
  request_counts: object({
    processing: integer,
    succeeded: integer,
    errored: integer,
    canceled: integer,
    expired: integer,
  }),
  created_at: text,
  expires_at: text,
  ...nullables('ended_at', 'cancel_initiated_at', 'archived_at', 'results_url')(text),
})

const MESSAGES: Readonly<Record<string, RouteDescription>> = {
  'create-messages': { summary: 'Runs many requests for messages', responses: json(messageBatch) },
  'show-messages': { summary: 'Shows a batch of messages', responses: json(messageBatch) },
  'list-messages': {
    summary: 'Lists the batches of messages, the latest first',
    responses: json(
      object({
        data: list(messageBatch),
        first_id: nullable(text),
        last_id: nullable(text),
        has_more: boolean,
      }),
    ),
    parameters: [
      query('limit', 'The number of batches, from 1 to 1000; 20 by default', between(1, 1_000)),
      query('after_id', '`last_id` of the page before'),
      query('before_id', '`first_id` of the page behind'),
    ],
  },
  'cancel-messages': {
    summary: 'Cancels a batch of messages; its requests under way end',
    responses: json(messageBatch),
  },
  'message-results': {
    summary: 'Sends the results of a batch of messages, one a line',
    responses: { 'application/x-jsonl': described('Lines `{custom_id, result}`', text) },
  },
  'delete-messages': {
    summary: 'Deletes a batch of messages with its requests and results',
    responses: json(object({ id: text, type: constant('message_batch_deleted') })),
  },
}
export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  ...MESSAGES,
  create: { summary: 'Runs a file of requests', responses: json(BATCH) },
  show: { summary: 'Shows a batch', responses: json(BATCH) },
  list: {
    summary: 'Lists the batches, the latest first',
    responses: json(pageOf(BATCH)),
    parameters: [
      query('limit', 'The number of batches, from 1 to 100; 20 by default', between(1, 100)),
      query('after', '`last_id` of the page before'),
    ],
  },
  events: {
    summary: 'Reports changes of the batches of the account as they happen',
    responses: { 'text/event-stream': described('Events with the changed rows', text) },
  },
  cancel: { summary: 'Cancels a batch; its requests under way end', responses: json(BATCH) },
}
