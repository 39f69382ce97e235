/** Faults of requests that cannot be decoded into the hub or encoded for their target. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  MEMBER_TYPE: [400, "Invalid type for '%s': expected %s."],
  MEMBER_MISSING: [400, "Missing required parameter: '%s'."],
  MEMBER_VALUE: [400, "Invalid value for '%s': %s."],
  DATA_BROKEN: [
    400,
    "Invalid value for '%s': its data is not valid base64.",
    { as: { vidu: { type: 'FieldInvalid', message: 'invalid field: %s (no valid base64)' } } },
  ],
  CONTENT_UNSUPPORTED: [400, "'%s': %s cannot be sent to this model."],
  TOOL_UNSUPPORTED: [400, "The tool '%s' is not available with this model.", { param: 'tools' }],
  TOOL_LIMITED: [400, "The tool '%s' is not available with this model: %s.", { param: 'tools' }],
  TOOLS_MIXED: [
    400,
    "The tool '%s' cannot be used together with function tools on this model.",
    { param: 'tools' },
  ],
  ANSWER_TANGLED: [502, 'The upstream interleaved too many parts of its answer.'],
  // Its SDKs go on with the whole history and without a thread.
  THREAD_UNSUPPORTED: [
    400,
    "'thread': this model keeps no threads. Send the whole conversation without 'thread'.",
    {
      param: 'thread',
      as: { anthropic: { details: { error_code: 'thread_unsupported_request' } } },
    },
  ],
  CALL_UNKNOWN: [400, "'%s' answers a tool call that is not in the conversation."],
  CALL_OPEN: [400, "The tool call '%s' has no result in the conversation."],
})
