/** What can be wrong with a question for something that is kept. */
import { errors } from '../../engine/errors.ts'

const previous = { param: 'previous_response_id' }

export const fault = errors({
  PREVIOUS_UNKNOWN: [400, "Previous response with id '%s' not found.", previous],
  PREVIOUS_UNFINISHED: [400, "Previous response with id '%s' is not finished yet.", previous],
  CONTEXT_TOO_LONG: [
    400,
    'What this request continues is longer than the %d bytes or %d responses that can be continued.',
    previous,
  ],
  CONTEXT_TWICE: [
    400,
    "'previous_response_id' and 'conversation' exclude one another.",
    { param: 'conversation' },
  ],
  ITEM_MISSING: [
    404,
    "Item with id '%s' not found. Items are not kept where `store` is false: send the item itself, or leave it out.",
    { param: 'input' },
  ],
  CONVERSATION_MISSING: [400, "Conversation with id '%s' not found.", { param: 'conversation' }],
  BACKGROUND_UNSTORED: [
    400,
    "A background response is kept until it is asked for: 'background' needs 'store'.",
    { param: 'store' },
  ],
  BACKGROUND_STREAM: [
    400,
    "A background response is not streamed: ask for it with GET until it is finished, or leave out 'background'.",
    { param: 'stream' },
  ],
  BACKGROUND_NOBODY: [
    400,
    'A background response is kept for an account, and this route asks for none.',
    { param: 'background' },
  ],
  BACKGROUND_LOST: [
    503,
    'This response could not be kept in time. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
  BACKGROUND_UNREADABLE: [502, 'The answer is no response, or larger than what is kept.'],

  RESPONSE_UNKNOWN: [404, "Response with id '%s' not found."],
  RESPONSE_UNCANCELLABLE: [
    400,
    "Response with id '%s' was not made in the background and cannot be cancelled.",
  ],
  RESPONSE_UNSTREAMABLE: [
    400,
    'What is kept of a response is not streamed: leave out `stream`.',
    { param: 'stream' },
  ],
  CONVERSATION_UNKNOWN: [404, "Conversation with id '%s' not found."],
  ITEM_NOT_HERE: [404, "Item with id '%s' not found in conversation '%s'."],
  ITEM_CONTESTED: [409, "Item with id '%s' is being changed by others. Try again."],
  ITEMS_TOO_LARGE: [
    400,
    'These items are longer than the %d bytes that are kept.',
    { param: 'items' },
  ],
  LIST_ORDER: [400, "'order' is 'asc' or 'desc'.", { param: 'order' }],
  LIST_LIMIT: [400, "'limit' is a whole number from 1 to 100.", { param: 'limit' }],
  LIST_AFTER: [400, "There is no item with id '%s' in this list.", { param: 'after' }],
})
