/** What can go wrong between a client's format and a target's. */
import { errors } from '../../engine/errors.ts'
import type { Fault } from '../../engine/plugin.ts'
import type { Stop } from '../formats/answer.ts'

export const fault = errors({
  MODEL_NOT_HERE: [404, "The model '%s' is not available on this endpoint.", { param: 'model' }],
  UPSTREAM_KEY_REFUSED: [
    502,
    'The upstream does not accept the key of this gateway. Its operator has been told.',
    { retryable: true },
  ],
  UPSTREAM_REDIRECTED: [502, 'The upstream answered with a redirect, which is not followed.'],
  UPSTREAM_TRUNCATED: [502, 'The upstream ended its stream before it was complete.'],
  UPSTREAM_LINGERS: [502, 'The upstream left its connection open after the end of its stream.'],
  UPSTREAM_UNREADABLE: [502, 'The upstream answered with something that is no %s answer.'],
  UPSTREAM_BROKE_OFF: [502, 'The model failed to write its answer: %s'],
  UPSTREAM_TANGLED: [502, 'The upstream mixes the parts of its answer beyond what can be sorted.'],
  FIELD_LOST: [
    400,
    "'%s' cannot be carried to the model '%s', and this request asks for nothing to be left out.",
  ],
})

export const brokeOff = ({ message, raw }: Stop): Fault =>
  fault('UPSTREAM_BROKE_OFF', [message ?? raw ?? 'no reason given'])
