/** Faults of requests for stored responses and conversations. */
import { errors } from '../../engine/errors.ts'

const previous = { param: 'previous_response_id' }

export const fault = errors({
  PREVIOUS_UNKNOWN: [400, "Previous response with id '%s' not found.", previous],
  PREVIOUS_UNFINISHED: [400, "Previous response with id '%s' is not finished yet.", previous],
  CONTEXT_TOO_LONG: [
    400,
    'The history of this request exceeds the limit of %d bytes or %d responses.',
    previous,
  ],
  CONTEXT_TWICE: [
    400,
    "'previous_response_id' and 'conversation' are mutually exclusive.",
    { param: 'conversation' },
  ],
  ITEM_MISSING: [
    404,
    "Item with id '%s' not found. Items are not stored with `store: false`: send the item itself, or leave it out.",
    { param: 'input' },
  ],
  CONVERSATION_MISSING: [400, "Conversation with id '%s' not found.", { param: 'conversation' }],
  BACKGROUND_UNSTORED: [
    400,
    "A background response must be stored: 'background' requires 'store'.",
    { param: 'store' },
  ],
  BACKGROUND_STREAM: [
    400,
    "A background response cannot be streamed: poll it with GET until it is finished, or leave out 'background'.",
    { param: 'stream' },
  ],
  BACKGROUND_WINDOW: [
    400,
    "Background responses run at once, at the standard price: leave out 'completion_window', or set it to 'soonest'.",
    { param: 'background_options.completion_window' },
  ],
  BACKGROUND_NOBODY: [
    400,
    'A background response needs an account, and this route does not authenticate.',
    { param: 'background' },
  ],
  BACKGROUND_TOO_LARGE: [
    400,
    'The input of a background response, or the rest of its request that it repeats, exceeds the limit of %d bytes: send less, or without `background`.',
  ],
  BACKGROUND_UNREADABLE: [
    502,
    'The upstream sent an invalid response, or one above the size limit of stored responses.',
  ],

  RESPONSE_UNKNOWN: [404, "Response with id '%s' not found."],
  RESPONSE_UNCANCELLABLE: [
    400,
    "Response with id '%s' is not a background response and cannot be cancelled.",
  ],
  RESPONSE_UNSTREAMABLE: [
    400,
    'A stored response cannot be streamed: leave out `stream`.',
    { param: 'stream' },
  ],
  CONVERSATION_UNKNOWN: [404, "Conversation with id '%s' not found."],
  ITEM_NOT_HERE: [404, "Item with id '%s' not found in conversation '%s'."],
  ITEM_CONTESTED: [409, "Other requests are changing the item with id '%s'. Try again."],
  ITEM_ORPHAN: [
    400,
    "No tool call found with call_id '%s': add the call before its output, or together with it.",
  ],
  ITEMS_TOO_LARGE: [400, 'These items exceed the limit of %d bytes.', { param: 'items' }],
  FRAME_INVALID: [400, 'A message of this WebSocket is a text frame with a JSON object.'],
  FRAME_UNKNOWN: [
    400,
    "Invalid value: '%s'. This WebSocket takes events of the type 'response.create'.",
    { param: 'type' },
  ],
  FRAMES_TOO_MANY: [
    429,
    'More than %d events wait for the end of a response: send the next one after that.',
  ],
  STREAMS_TOO_MANY: [
    400,
    'One WebSocket carries up to %d streams: use a known `stream_id`, or another connection.',
    { param: 'stream_id', as: { openai: { code: 'websocket_stream_limit_reached' } } },
  ],
  RESPONSE_UNFINISHED: [502, 'The upstream ended its response without a final event.'],
  SOCKET_EXPIRED: [
    400,
    'This connection has reached its lifetime of %d s. Open another one to continue.',
    { as: { openai: { code: 'websocket_connection_limit_reached' } } },
  ],
  SOCKET_DRAINED: [503, 'The gateway is shutting down. Open another connection to continue.'],
  SOCKET_PATH: [500, 'There is no route "POST %s" for the responses of this WebSocket.'],

  // The SDKs of Anthropic begin the thread again with the whole conversation, or go on without it.
  THREAD_UNKNOWN: [
    404,
    'There is no thread with the message \'%s\'. Send the whole conversation with `thread: {"type": "create"}`.',
    {
      param: 'thread.previous_message_id',
      as: { anthropic: { details: { error_code: 'thread_not_found' } } },
    },
  ],
  THREAD_TOO_LONG: [
    400,
    "This thread exceeds the limit of %d bytes or %d messages. Send the conversation without 'thread'.",
    {
      param: 'thread',
      as: { anthropic: { details: { error_code: 'thread_unsupported_request' } } },
    },
  ],
  THREAD_CHANGED: [
    400,
    '\'%s\' differs from that of the thread. Leave it out, or send the whole conversation with `thread: {"type": "create"}`.',
    { as: { anthropic: { details: { error_code: 'thread_fingerprint_mismatch' } } } },
  ],
  THREAD_TYPE: [
    400,
    "Invalid value for 'thread.type': expected 'create' or 'continue'.",
    { param: 'thread.type' },
  ],
  THREAD_PREVIOUS: [
    400,
    "Missing required parameter: 'thread.previous_message_id'.",
    { param: 'thread.previous_message_id' },
  ],
  MESSAGE_UNKNOWN: [404, "There is no stored message with the id '%s'."],

  INTERACTION_MISSING: [
    404,
    "There is no interaction with the id '%s' to continue.",
    { param: 'previous_interaction_id' },
  ],
  INTERACTIONS_TOO_LONG: [
    400,
    'This conversation exceeds the limit of %d bytes or %d interactions. Send its steps in `input`.',
    { param: 'previous_interaction_id' },
  ],
  INTERACTION_UNFINISHED: [
    400,
    "The conversation of the interaction with the id '%s' is still running in the background.",
    { param: 'previous_interaction_id' },
  ],
  AGENT_FOREGROUND: [
    400,
    "The agent '%s' runs in the background only: set 'background' to true.",
    { param: 'background' },
  ],
  INTERACTION_UNKNOWN: [404, "There is no interaction with the id '%s'."],
  INTERACTION_UNSTREAMABLE: [
    400,
    'A stored interaction cannot be streamed: leave out `stream`.',
    { param: 'stream' },
  ],
  INTERACTION_UNCANCELLABLE: [
    400,
    "The interaction with the id '%s' is not running in the background and cannot be cancelled.",
  ],

  LIST_ORDER: [400, "'order' must be 'asc' or 'desc'.", { param: 'order' }],
  LIST_LIMIT: [400, "'limit' must be an integer from 1 to 100.", { param: 'limit' }],
  LIST_AFTER: [400, "There is no item with id '%s' in this list.", { param: 'after' }],
})
