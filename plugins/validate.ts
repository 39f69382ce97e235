/** Plugin `validate`: validates the request body against the route's JSON Schema before any
 *  upstream call. */
import {
  anyOf,
  object,
  oneOf,
  type RawOf,
  reading,
  required,
  text,
} from '../engine/config/shape.ts'
import type { Exchange, Json, Plugin } from '../engine/plugin.ts'
import { jsonSize } from './conversion/json-size.ts'
import { fileValidator, readSchema, turnAfterParse, validateRequest } from './schema/compile.ts'
import { refuseOtherTypes } from './schema/json-body.ts'
import { dropNulls, dropUnknown } from './schema/known-fields.ts'
import { EXPANDED_REQUEST } from './slots.ts'

const FILE = text('A file, relative to this file.', {
  format: 'file',
  examples: ['schemas/chat-completions.json'],
})
const OPTIONS = anyOf(
  'The JSON Schema of the request body.',
  [
    reading(FILE, schema => ({ schema, unknown: 'keep', nulls: 'keep' })),
    object(
      'A file, and what happens to members that the schema does not name.',
      {
        schema: required(FILE),
        unknown: oneOf(
          'drop: they are neither read nor sent, and a member that is null counts as absent; keep: they pass.',
          ['keep', 'drop'],
          { default: 'keep', examples: ['drop'] },
        ),
        nulls: oneOf(
          'drop: a member that is null counts as absent and is not sent; keep: the schema decides, unless unknown is drop.',
          ['keep', 'drop'],
          { default: 'keep', examples: ['drop'] },
        ),
      },
      { examples: [{ schema: 'schemas/ent/text2video.json', unknown: 'drop' }] },
    ),
  ],
  { examples: ['schemas/chat-completions.json'] },
)

export default {
  schema: OPTIONS.schema,
  // A form is validated by its fields.
  after: ['form'],
  setup: (options, host) => {
    const { schema: path, unknown, nulls } = OPTIONS.read(options)
    const validator = fileValidator(path, host)
    const known = unknown === 'drop' ? readSchema(path, host) : undefined
    const isChanging = known !== undefined || nulls === 'drop'
    return {
      describe: () => ({ body: { 'application/json': readSchema(path, host) } }),
      async handle(exchange, next) {
        const { request } = exchange
        refuseOtherTypes(request)
        if (!isChanging) {
          const complaint = await validateRequest(validator, request)
          if (complaint) throw complaint
          return next()
        }
        const isParsed = request.outlined !== undefined
        const received = await request.json()
        await turnAfterParse(request)
        const body = dropNulls(received)
        const complaint = validator.validate(body)
        if (complaint) throw complaint
        // The bytes of a form are sent unchanged, unless its JSON stands for it.
        const isJsonBody = !isParsed || exchange.slots.get(EXPANDED_REQUEST) !== undefined
        const outgoing = known === undefined ? body : dropUnknown(known, body)
        if (isJsonBody) replaceBody(outgoing, received, exchange)
        await next()
      },
      explain: () => ({
        schema: path,
        ...(unknown === 'drop' && { unknown }),
        ...(nulls === 'drop' && { nulls }),
      }),
    }
  },
} satisfies Plugin<RawOf<typeof OPTIONS>>

const replaceBody = (body: Json, received: Json, { request, slots }: Exchange): void => {
  if (body === received) return
  const size = jsonSize(body, request)
  request.setJson(body)
  slots.set(EXPANDED_REQUEST, { body, size, longer: true })
}
