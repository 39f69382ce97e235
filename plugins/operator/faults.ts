/** Refusals of operations. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  ADMIN_SELF: [
    409,
    'You are signed in as "%s" and would lock yourself out: let another operator do this, or use the command line',
    { param: 'account' },
  ],
  ADMIN_NUMBER: [400, "Invalid 'name': a number alone is no name", { param: 'name' }],
  ADMIN_QUERY: [400, 'Invalid `%s`: expected %s'],
  ADMIN_AMOUNT: [400, 'The amount must be above 0', { param: 'amount' }],
})
/** `expected`: what the member of a query may be. */
export const queryFault = (name: string, expected: string): Error =>
  fault('ADMIN_QUERY', [name, expected], { param: name })
