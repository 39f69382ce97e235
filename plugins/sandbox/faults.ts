/** Faults of the sandbox. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  SANDBOX_FILE: [404, 'The sandbox has no file "%s".', { param: 'file' }],
  SANDBOX_LIMITS: [
    400,
    'This request exceeds the limits of the sandbox; configure a real upstream.',
  ],
  SANDBOX_UNSUPPORTED: [
    501,
    'The sandbox does not support %s %s; configure a real upstream.',
    { as: { openai: { type: 'invalid_request_error', code: 'api_not_implemented' } } },
  ],
})
