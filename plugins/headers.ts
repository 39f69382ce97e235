/** Plugin `headers`: sets headers on requests to upstreams and on responses of a route. */
import { map, object, type RawOf, text } from '../engine/config/shape.ts'
import type { Plugin } from '../engine/plugin.ts'

/** Headers that frame a message or belong to one connection are the gateway's. */
const NAMES =
  "^(?!(?:connection|content-length|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$)[!#$%&'*+.^_`|~0-9a-z-]+$"

const headers = <const E extends object>(description: string, example: E) =>
  map(
    description,
    text('The value of the header.', {
      pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
      examples: ['search'],
    }),
    { examples: [example], propertyNames: { pattern: NAMES } },
  )
const OPTIONS = object(
  'Headers that the gateway sets on this route. Names are in lower case.',
  {
    request: headers('Headers of requests to upstreams.', { 'x-team': 'search' }),
    response: headers('Headers of responses, but not of errors of the gateway.', {
      'cache-control': 'no-store',
    }),
  },
  {
    examples: [{ request: { 'x-team': 'search' }, response: { 'cache-control': 'no-store' } }],
  },
)

export default {
  schema: OPTIONS.schema,
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
} satisfies Plugin<RawOf<typeof OPTIONS>>
