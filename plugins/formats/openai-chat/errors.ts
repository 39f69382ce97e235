/** Errors of this format in streams and error replies. */
import { isFields } from '../fields.ts'
import { eventFields } from '../format.ts'
import { openaiError } from '../openai-error.ts'
import type { SseEvent } from '../stream/sse.ts'

export { decodeErrorReply as decodeError } from '../openai-error-reply.ts'

export const errorOf = (event: SseEvent): ReturnType<typeof openaiError> => {
  const fields = eventFields(event)
  if (!fields) return undefined
  return openaiError(event.name === 'error' && !isFields(fields.error) ? fields : fields.error)
}
