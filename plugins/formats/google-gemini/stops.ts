/** Maps stop reasons in both directions. */
import { lookUp } from '../fields.ts'
import type { Stop } from '../hub/answer.ts'

type Reason = Stop['reason']
const REASONS: Readonly<Record<string, Reason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  LANGUAGE: 'filter',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  MODEL_ARMOR: 'filter',
  IMAGE_SAFETY: 'filter',
  IMAGE_PROHIBITED_CONTENT: 'filter',
  IMAGE_RECITATION: 'filter',
  MALFORMED_FUNCTION_CALL: 'broken',
  UNEXPECTED_TOOL_CALL: 'broken',
  TOO_MANY_TOOL_CALLS: 'broken',
  MISSING_THOUGHT_SIGNATURE: 'broken',
  MALFORMED_RESPONSE: 'broken',
}
/** Without content the model has failed, and another may answer. */
const UNEXPLAINED: ReadonlySet<string> = new Set(['OTHER', 'IMAGE_OTHER', 'NO_IMAGE'])
export const isFailedReason = (reason: unknown): reason is string =>
  typeof reason === 'string' && (lookUp(REASONS, reason) === 'broken' || UNEXPLAINED.has(reason))
/** Counts as no reason. */
const UNSPECIFIED = 'FINISH_REASON_UNSPECIFIED'

export const isReason = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value !== UNSPECIFIED

/** `hasCalls`: the answer contains a call of a client's tool. `isEmpty`: it has no content; then an
 *  unknown reason counts as broken. */
export const stopOf = (
  raw: string | undefined,
  message: string | undefined,
  { hasCalls, isEmpty }: { readonly hasCalls: boolean; readonly isEmpty: boolean },
): Stop => {
  const knownReason = raw === undefined ? undefined : lookUp(REASONS, raw)
  const reason = knownReason ?? (isEmpty ? 'broken' : 'end')
  return {
    reason: reason === 'end' && hasCalls ? 'call' : reason,
    ...(raw !== undefined && { raw }),
    ...(message !== undefined && { message }),
  }
}
/** The stop of a refused prompt. */
export const blockStop = (raw: string, message: string | undefined): Stop => ({
  reason: 'filter',
  raw,
  ...(message !== undefined && { message }),
})

const FINISH_REASONS: Readonly<Record<Reason, string>> = {
  end: 'STOP',
  sequence: 'STOP',
  call: 'STOP',
  pause: 'MAX_TOKENS',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  filter: 'SAFETY',
  broken: 'OTHER',
}
/** Google's own value if it has the same meaning. */
export const finishReason = ({ reason, raw }: Stop): string =>
  raw !== undefined && lookUp(REASONS, raw) === reason ? raw : FINISH_REASONS[reason]

const BLOCK_REASONS = new Set([
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
])
export const blockReason = ({ raw }: Stop): string =>
  raw !== undefined && BLOCK_REASONS.has(raw) ? raw : 'SAFETY'
