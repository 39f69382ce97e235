/** Descriptions of the endpoints for stored responses and conversations. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { interaction } from '../formats/google-interactions/about.ts'
import { responseSchema } from '../formats/openai-responses/about.ts'
import {
  between,
  boolean,
  constant,
  fields,
  integer,
  json,
  list,
  nullable,
  object,
  oneOf,
  pageOf,
  query,
  text,
} from '../shapes.ts'

const item = object(
  { type: text, id: text },
  {
    role: text,
    status: nullable(text),
    content: { anyOf: [list(fields), text, { type: 'null' }] },
  },
)
const conversation = object({
  id: text,
  object: constant('conversation'),
  created_at: integer,
  metadata: nullable(fields),
})
const deleted = (name: string) =>
  json(object({ id: text, object: constant(name), deleted: boolean }))
const paging = [
  query('limit', 'The number of items, from 1 to 100; 20 by default', between(1, 100)),
  query('order', 'The latest first by default', oneOf('asc', 'desc')),
  query('after', '`last_id` of the page before'),
]

export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  socket: {
    summary: 'Opens a WebSocket: each `response.create` is a POST of the same path',
  },
  show: { summary: 'Shows a stored response', responses: json(responseSchema) },
  delete: { summary: 'Deletes a stored response', responses: deleted('response') },
  cancel: { summary: 'Cancels a response in the background', responses: json(responseSchema) },
  input: {
    summary: 'Lists the input items of a stored response',
    responses: json(pageOf(item)),
    parameters: paging,
  },
  'delete-message': {
    summary: 'Deletes a message of a thread; the thread cannot be continued after it',
    responses: json(object({ id: text, type: constant('message_deleted') })),
  },
  'create-conversation': { summary: 'Creates a conversation', responses: json(conversation) },
  'show-conversation': { summary: 'Shows a conversation', responses: json(conversation) },
  'update-conversation': {
    summary: 'Changes the metadata of a conversation',
    responses: json(conversation),
  },
  'delete-conversation': {
    summary: 'Deletes a conversation and its items',
    responses: deleted('conversation.deleted'),
  },
  'conversation-items': {
    summary: 'Lists the items of a conversation',
    responses: json(pageOf(item)),
    parameters: paging,
  },
  'create-items': {
    summary: 'Adds items to a conversation',
    responses: json(pageOf(item)),
  },
  'show-item': { summary: 'Shows an item of a conversation', responses: json(item) },
  'delete-item': {
    summary: 'Deletes an item of a conversation',
    responses: json(conversation),
  },
  'show-interaction': {
    summary: 'Shows a stored interaction',
    responses: json(interaction),
    parameters: [query('include_input', '`true`: with its input, too', boolean)],
  },
  'cancel-interaction': {
    summary: 'Cancels an interaction in the background',
    responses: json(interaction),
  },
  'delete-interaction': {
    summary: 'Deletes an interaction; none can be continued after it',
    responses: json(object({})),
  },
}
