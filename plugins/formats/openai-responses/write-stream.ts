/** Encodes a client's stream: numbered events from `response.created` to the one that holds the
 *  whole response. No `[DONE]`. */
import type { Meters } from '../../slots.ts'
import type { Stop } from '../answer.ts'
import type { EncodeContext, StreamEncoder } from '../codec.ts'
import { type Fields, lenientObject, lenientText } from '../fields.ts'
import { Output } from './output.ts'
import { type ResponseState, responseOf } from './response.ts'
import { endingOf } from './stops.ts'

export const encodeStream = (context: EncodeContext): StreamEncoder => {
  let sequence = 0
  let text = ''
  let hasBegun = false
  let meters: Meters | undefined
  let stop: Stop | undefined
  let tier: string | undefined
  const emit = (type: string, members: Fields): void => {
    const event = { type, sequence_number: sequence++, ...members }
    text += `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  }
  const output = new Output(context.id, emit)
  const respond = (
    type: string,
    state: Omit<ResponseState, 'output'>,
    items: readonly Fields[],
  ): void => emit(type, { response: responseOf(context, { ...state, output: items }) })
  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    respond('response.created', { status: 'in_progress' }, [])
    respond('response.in_progress', { status: 'in_progress' }, [])
  }
  const complain = (error: Fields): void =>
    emit('error', { code: null, message: '', param: null, ...error })
  const finish = (why: Stop): void => {
    if (why.reason === 'refusal') output.addRefusal(why.message)
    const ending = endingOf(why, output.hasRefusal)
    const { status, error } = ending
    output.finish(status === 'completed' ? 'completed' : 'incomplete')
    if (error) complain(error)
    respond(`response.${status}`, { ...ending, meters, tier }, output.items)
  }
  const takeText = (): string => {
    const pending = text
    text = ''
    return pending
  }
  return {
    push: part => {
      begin()
      if (part.type === 'count') meters = part.meters
      else if (part.type === 'begin') {
        meters = part.meters
        tier = part.tier
      }
      // This format carries one answer only.
      else if (part.type === 'stop') stop = part.choice === 0 ? part.stop : stop
      else if (part.type === 'end') finish(stop ?? { reason: 'end' })
      else if (part.type !== 'open' || part.choice === 0) output.add(part)
      return takeText()
    },
    failure: body => {
      begin()
      const { code, message, param } = errorIn(body)
      complain({ code, message, param })
      const error = { code: code ?? 'server_error', message }
      const state = { status: 'failed', error, meters } as const
      respond('response.failed', state, output.items)
      return takeText()
    },
  }
}

/** Reads the error from the body in the client's dialect. */
const errorIn = (
  body: Fields,
): { readonly code: string | null; readonly message: string; readonly param: string | null } => {
  const error = lenientObject(body, 'error')
  return {
    code: lenientText(error, 'code') ?? lenientText(error, 'type') ?? null,
    message: lenientText(error, 'message') ?? '',
    param: lenientText(error, 'param') ?? null,
  }
}
