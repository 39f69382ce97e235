/** Events of a WebSocket of responses, as text: errors, warm-ups, and the members that the socket
 *  adds to events of the HTTP stream. Pure. */
import type { Fault, Headers, Json } from '../../../engine/plugin.ts'
import { bodyOf } from '../../dialects/index.ts'
import { type Fields, isFields } from '../../formats/fields.ts'
import { unfinishedResponse } from '../unfinished-response.ts'

/** Headers of a response that its first event repeats: over a socket there is no other place. */
const REPEATED = /^(?:x-request-id|retry-after|x-ratelimit-.+|x-tollgate-.+)$/
export const repeatedHeaders = (headers: Headers): Fields =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      REPEATED.test(name) ? [[name, String(value)]] : [],
    ),
  )

/** `error`: the member of that name in the body of an HTTP error. */
export const errorEvent = (status: number, error: Json | undefined, headers: Fields = {}): string =>
  JSON.stringify({
    type: 'error',
    status,
    error: { param: null, code: null, ...(isFields(error) ? error : UNKNOWN), headers },
    headers,
  })
const UNKNOWN = { type: 'server_error', message: 'The upstream sent an error without a text.' }
/** `id`: of the socket's request, since the fault belongs to no response. */
export const faultEvent = (reason: Fault, id: string): string =>
  errorEvent(reason.status, bodyOf('openai', reason, id).error as Json)

export const steerRefusal = ({ previous_response_id, input = [] }: Fields): string =>
  JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    steer: { response_id: previous_response_id ?? '', previous_response_id, input },
    error: {
      type: 'invalid_request_error',
      code: 'steering_not_supported',
      message:
        'This gateway does not steer responses under way: send the input in the next response.create.',
    },
  })

/** The events of `generate: false`: a response without output, which costs nothing. */
export const warmUpEvents = (id: string, now: number, body: Fields): readonly string[] => {
  const model = typeof body.model === 'string' ? body.model : ''
  const response = { ...unfinishedResponse({ id, created: now, model }, body), store: false }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.completed', response: { ...response, status: 'completed', usage: NO_USAGE } },
  ].map((event, sequence_number) => JSON.stringify({ ...event, sequence_number }))
}
const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

/** Adds members to an event; the rest stays byte for byte. */
export const withMembers = (event: string, members: Fields): string => {
  const text = event.trimEnd()
  const added = JSON.stringify(members).slice(1, -1)
  return added === '' || !text.endsWith('}') ? event : `${text.slice(0, -1)},${added}}`
}
