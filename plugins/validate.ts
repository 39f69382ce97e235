/** Plugin `validate`: validates the request body against the route's JSON Schema before any
 *  upstream call. */
import { MIMEType } from 'node:util'
import { errors } from '../engine/errors.ts'
import type { Plugin } from '../engine/plugin.ts'
import { fileValidator } from './schema/compile.ts'

const fault = errors({
  CONTENT_TYPE: [
    415,
    'Unsupported Content-Type %s: this endpoint accepts application/json.',
    { headers: { 'accept-post': 'application/json' } },
  ],
})

export default {
  schema: {
    description: 'The JSON Schema file of the request body, relative to this file.',
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
        // A missing type counts as JSON: curl and many scripts send none. A body that `form` parsed
        // needs no check.
        const isParsed = exchange.request.parsed !== undefined
        if (!isParsed && type !== undefined && type !== 'application/json' && !isJson(type))
          throw fault('CONTENT_TYPE', [JSON.stringify(type.slice(0, 64))])
        const complaint = validator.validate(await exchange.request.json())
        if (complaint) throw complaint
        await next()
      },
      explain: () => ({ schema: path }),
    }
  },
} satisfies Plugin<string>

/** Accepts every spelling of the type, with parameters. JSON is UTF-8 (RFC 8259 §8.1): no other
 *  charset is valid. */
const isJson = (type: string): boolean => {
  try {
    const { essence, params } = new MIMEType(type)
    return essence === 'application/json' && /^(utf-?8)?$/i.test(params.get('charset') ?? '')
  } catch {
    return false
  }
}
