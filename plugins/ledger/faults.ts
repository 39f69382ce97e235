/** The faults with which the ledger refuses a call. */
import { errors } from '../../engine/errors.ts'

export { isCode } from '../../engine/kit.ts'

export const fault = errors({
  INSUFFICIENT: [403, 'Insufficient balance: this call may cost up to %s, %s.'],
  KEY_EXHAUSTED: [403, 'Insufficient quota: this call may cost up to %s, %s.'],
})

export const INSUFFICIENT = 'INSUFFICIENT'
