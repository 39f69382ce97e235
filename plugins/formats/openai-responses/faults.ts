/** Faults of requests that occur in this format only. */
import { errors } from '../../../engine/errors.ts'

export const fault = errors({
  UNSUPPORTED_PARAMETER: [
    400,
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again with the new parameter.",
    { param: 'messages' },
  ],
  ITEM_UNKNOWN: [400, "Item with id '%s' not found."],
  COMPACTION_EMPTY: [502, 'The model wrote no summary of the conversation.', { retryable: true }],
})
