/** Maps stop reasons to and from the status of a response and its details. */
import { type Fields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import type { Stop } from '../hub/answer.ts'
import type { Content } from '../hub/content.ts'

const INCOMPLETE: Readonly<Record<string, Stop['reason']>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'filter',
}

/** `content`: the types of the answer's content. */
export const stopOf = (response: Fields, content: Iterable<Content['type']>): Stop => {
  const status = lenientText(response, 'status') ?? 'completed'
  if (status === 'incomplete') {
    const raw = lenientText(lenientObject(response, 'incomplete_details'), 'reason') ?? status
    return { reason: INCOMPLETE[raw] ?? 'length', raw }
  }
  const types = new Set(content)
  const blocked = moderationError(response)
  if (blocked && types.size === 0)
    return { reason: 'filter', raw: BLOCKED, message: lenientText(blocked, 'message') ?? BLOCKED }
  // One compatible upstream sends `complete`. A response of any other status without content is not
  // an answer.
  if (BROKEN.has(status) || (!status.startsWith('complete') && types.size === 0)) {
    const message =
      lenientText(lenientObject(response, 'error'), 'message') ?? `The response is ${status}.`
    return {
      reason: 'broken',
      raw: lenientText(lenientObject(response, 'error'), 'code') ?? status,
      message,
    }
  }
  if (types.has('call')) return { reason: 'call', raw: status }
  return { reason: types.has('refusal') ? 'refusal' : 'end', raw: status }
}
/** Moderation refuses the response as a whole, or the image that it was to hold. */
const moderationError = (response: Fields): Fields | undefined =>
  [response, ...lenientObjects(response, 'output')]
    .map(each => lenientObject(each, 'error'))
    .find(({ code }) => code === BLOCKED)
const BLOCKED = 'moderation_blocked'
const BROKEN: ReadonlySet<string> = new Set(['failed', 'cancelled'])

export interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed'
  readonly reason?: 'max_output_tokens' | 'content_filter'
  readonly error?: { readonly code: string; readonly message: string }
}
/** `hasRefusal`: the answer contains the text of a refusal. */
export const endingOf = (stop: Stop, hasRefusal: boolean): Ending => {
  // A pause has no word here: the client learns that the answer goes on.
  if (stop.reason === 'length' || stop.reason === 'pause')
    return { status: 'incomplete', reason: 'max_output_tokens' }
  if (stop.reason === 'filter' || (stop.reason === 'refusal' && !hasRefusal))
    return { status: 'incomplete', reason: 'content_filter' }
  if (stop.reason !== 'broken') return { status: 'completed' }
  const reason = stop.message ?? stop.raw ?? 'no reason given'
  const message = `The model failed to write its answer: ${reason}`
  return { status: 'failed', error: { code: 'server_error', message } }
}
