/** Faults of objects that upstreams keep. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  RESOURCE_UNKNOWN: [404, '%s does not exist, or it belongs to another account.'],
  RESOURCES_APART: [
    400,
    'The request names %s and %s, which two keys of the provider keep. Upload one of them again.',
  ],
  RESOURCE_ELSEWHERE: [400, "The model '%s' is not available where the provider keeps %s."],
  RESOURCE_TTL: [400, "'%s': expected %s.", { param: 'ttl' }],
  RESOURCE_PAGE: [400, "'%s': expected %s."],
  RESOURCE_UNREADABLE: [502, 'The upstream sent a response that is not a valid %s.'],
})
