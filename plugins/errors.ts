/** Renders every fault of a route in the dialect its clients read: also 404, 405, drain and a commit that failed. */
import type { Plugin } from '../engine/plugin.ts'
import { type DialectName, dialects, render, streams } from './dialects/index.ts'

export default {
  schema: {
    description: 'The dialect in which errors on this route are written.',
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
