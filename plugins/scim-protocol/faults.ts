/** Refusals of provisioning requests (RFC 7644 §3.12). */
import { errors } from '../../engine/errors.ts'

const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }
export const fault = errors({
  SCIM_TOKEN: [401, 'The bearer token is not one of the section scim', CHALLENGE],
  SCIM_OFF: [404, 'The gateway has no section scim'],
  SCIM_OPERATOR: [403, 'The account "%s" has the role admin; set `operators: true` in scim'],
  SCIM_UNKNOWN: [404, 'There is no %s with the id "%s"'],
  SCIM_EXISTS: [409, 'There is another %s with the %s "%s"'],
  SCIM_FILTER: [400, 'The filter must be one comparison such as %s eq "text"'],
  SCIM_PATH: [400, 'The path "%s" is not one that can be changed'],
  SCIM_TARGET: [400, 'A removal needs a path'],
  SCIM_SYNTAX: [400, '%s'],
  SCIM_VALUE: [400, '%s'],
  SCIM_TOO_MANY: [400, 'A group may have at most %d members'],
  SCIM_BUSY: [
    503,
    'Other changes came in between; try again',
    { retryable: true, headers: { 'retry-after': '1' } },
  ],
})
