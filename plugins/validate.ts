/** The body against the route's JSON Schema, before anything is asked of anyone. */
import { MIMEType } from 'node:util'
import { errors } from '../engine/errors.ts'
import type { Plugin } from '../engine/plugin.ts'
import { fileValidator } from './schema/compile.ts'

const fault = errors({
  CONTENT_TYPE: [
    415,
    'Unsupported Content-Type %s: this endpoint takes application/json.',
    { headers: { 'accept-post': 'application/json' } },
  ],
})

export default {
  schema: {
    description: 'A JSON Schema that the request body must fit, relative to this file.',
    type: 'string',
    format: 'file',
    examples: ['schemas/chat-completions.json'],
  },
  // A form is validated by its fields.
  after: ['form'],
  setup: (path, host) => {
    const validator = fileValidator(path, host)
    return {
      async handle(exchange, next) {
        const type = exchange.request.headers['content-type']
        // No type at all counts as JSON: curl and many scripts send none. What was read already need not be.
        const known = exchange.request.parsed !== undefined
        if (!known && type !== undefined && type !== 'application/json' && !isJson(type))
          throw fault('CONTENT_TYPE', [JSON.stringify(type.slice(0, 64))])
        const complaint = validator.judge(await exchange.request.json())
        if (complaint) throw complaint
        await next()
      },
      explain: () => ({ schema: path }),
    }
  },
} satisfies Plugin<string>

/** Every spelling of the type, with parameters. JSON is UTF-8 (RFC 8259 §8.1): a charset may only say so. */
const isJson = (given: string): boolean => {
  try {
    const { essence, params } = new MIMEType(given)
    return essence === 'application/json' && /^(utf-?8)?$/i.test(params.get('charset') ?? '')
  } catch {
    return false
  }
}
