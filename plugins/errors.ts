/** Plugin `errors`: renders every fault of a route in its clients' dialect, including 404, 405,
 *  drain and failed commits. */
import type { Plugin } from '../engine/plugin.ts'
import { type DialectName, dialects, render, streams } from './dialects/index.ts'

export default {
  schema: {
    description: 'The dialect of error responses on this route.',
    type: 'string',
    enum: Object.keys(dialects),
    examples: ['openai'],
  },
  default: 'openai',
  setup: dialect => ({
    streams: request => streams(dialect, request),
    fail: (fault, exchange) => render(dialect, fault, exchange.id),
    explain: () => ({ dialect }),
  }),
} satisfies Plugin<DialectName>
