/** Maps the status of an interaction to stop reasons, in both directions. */
import { type Fields, lenientObjects, lenientText, lookUp } from '../fields.ts'
import type { Stop } from '../hub/answer.ts'

const REASONS: Readonly<Record<string, Stop['reason']>> = {
  completed: 'end',
  requires_action: 'call',
  incomplete: 'length',
  budget_exceeded: 'length',
  requires_continuation: 'pause',
  failed: 'broken',
}
/** The code of the error of an answer that was refused or filtered. */
const BLOCKED = 'blocked'

/** `hasCalls`: the interaction ends with calls of the client's tools. */
export const stopOf = (interaction: Fields, hasCalls: boolean): Stop => {
  const raw = lenientText(interaction, 'status') ?? ''
  const [error = {}] = lenientObjects(interaction, 'errors')
  const message = lenientText(error, 'message')
  const reason = lookUp(REASONS, raw) ?? 'end'
  const known = reason === 'broken' && error.code === BLOCKED ? 'filter' : reason
  return {
    reason: known === 'end' && hasCalls ? 'call' : known,
    ...(raw !== '' && { raw }),
    ...(message !== undefined && { message }),
  }
}

const STATUSES: Readonly<Record<Stop['reason'], string>> = {
  end: 'completed',
  sequence: 'completed',
  call: 'requires_action',
  length: 'incomplete',
  pause: 'incomplete',
  refusal: 'failed',
  filter: 'failed',
  broken: 'failed',
}
/** `status`, and `errors` for an answer that failed. */
export const statusFields = ({ reason, message }: Stop): Fields => {
  const status = STATUSES[reason]
  if (status !== 'failed') return { status }
  const code = reason === 'broken' ? 'internal' : BLOCKED
  const text = reason === 'broken' ? 'The model failed to answer.' : 'The answer was blocked.'
  return { status, errors: [{ code, message: message ?? text }] }
}
