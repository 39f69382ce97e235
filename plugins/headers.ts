/** Plugin `headers`: sets headers on requests to upstreams and on responses of a route. */
import type { Plugin } from '../engine/plugin.ts'

interface Options {
  readonly request?: Readonly<Record<string, string>>
  readonly response?: Readonly<Record<string, string>>
}

/** Headers that frame a message or belong to one connection are the gateway's. */
const NAMES =
  "^(?!(?:connection|content-length|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$)[!#$%&'*+.^_`|~0-9a-z-]+$"

const headers = (description: string, example: object) => ({
  description,
  type: 'object',
  propertyNames: { pattern: NAMES },
  additionalProperties: {
    description: 'The value of the header.',
    type: 'string',
    pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
    examples: ['search'],
  },
  examples: [example],
})

export default {
  schema: {
    description: 'Headers that the gateway sets on this route. Names are in lower case.',
    type: 'object',
    additionalProperties: false,
    properties: {
      request: headers('Headers of requests to upstreams.', { 'x-team': 'search' }),
      response: headers('Headers of responses, but not of errors of the gateway.', {
        'cache-control': 'no-store',
      }),
    },
    examples: [{ request: { 'x-team': 'search' }, response: { 'cache-control': 'no-store' } }],
  },
  setup: ({ request, response }) => ({
    ...(response && {
      async handle(exchange, next) {
        await next()
        Object.assign(exchange.reply.headers, response)
      },
    }),
    ...(request && {
      forward(attempt, next) {
        Object.assign(attempt.request.headers, request)
        return next()
      },
    }),
  }),
} satisfies Plugin<Options>
