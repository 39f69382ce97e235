/** Errors of the image task endpoints: /mj. Clients read the number in `code`. */
import { integer, object, text } from '../shapes.ts'
import type { Dialect } from './dialect.ts'

/** Codes of the proxy that these clients were written for: 3 not found, 4 not valid, 9 failed, 30
 *  saturated. */
export const midjourney: Dialect = {
  faults: {
    OVERLOADED: { type: 'gateway_error', code: 30, status: 429 },
    CONCURRENCY_EXCEEDED: { type: 'gateway_error', code: 30 },
  },
  statuses: {
    400: { type: 'gateway_error', code: 4 },
    404: { type: 'gateway_error', code: 3 },
    429: { type: 'gateway_error', code: 30 },
    500: { type: 'gateway_error', code: 9 },
    502: { type: 'upstream_error', code: 9 },
    504: { type: 'upstream_error', code: 9 },
  },
  schema: object({ description: text, type: text, code: integer }),
  body: ({ message }, { type, code }) => ({ description: message, type, code: code ?? 9 }),
}
