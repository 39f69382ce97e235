/** Plugin `form`: parses multipart forms into a JSON body for other plugins, with type and size of
 *  files; the bytes stay as the client sent them. */
import { errors } from '../engine/errors.ts'
import type { Bytes, Json, Plugin } from '../engine/plugin.ts'
import { boundaryOf, type FormPart, partsIn } from './formats/multipart.ts'
import { FILES } from './slots.ts'

const fault = errors({
  FORM_UNREADABLE: [400, 'The request body is not a valid multipart form.'],
  FORM_TWICE: [400, "'%s' occurs more than once."],
  FORM_FILE: [400, "'%s' is a file, but must be text."],
  FORM_TEXT: [400, "'%s' is text, but must be a file."],
  FORM_LONG: [400, "'%s' is longer than %d bytes."],
  FORM_ONLY: [
    415,
    'Unsupported Content-Type: this endpoint accepts multipart/form-data.',
    { headers: { 'accept-post': 'multipart/form-data' } },
  ],
})

/** Size limit of a text field, bytes. */
const MAX_FIELD_BYTES = 256 * 1024

interface Options {
  readonly files: readonly string[]
  readonly numbers?: readonly string[]
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly only?: boolean
}
const fieldNames = (description: string, example: string) => ({
  description,
  type: 'array',
  items: { type: 'string', minLength: 1, description: 'The name of a field.', examples: [example] },
  uniqueItems: true,
  examples: [[example]],
})

export default {
  schema: {
    description:
      'The route accepts multipart forms, with or without JSON. Lists the fields that are not text.',
    type: 'object',
    required: ['files'],
    additionalProperties: false,
    properties: {
      files: fieldNames(
        'File fields; `image` also matches `image[]`, and may be repeated.',
        'image',
      ),
      numbers: fieldNames('Number fields.', 'n'),
      flags: fieldNames('Boolean fields: true or false.', 'stream'),
      lists: fieldNames(
        'Text fields that may be repeated, as `include[]` or as `include`.',
        'include',
      ),
      only: {
        description: 'true: the route accepts no JSON bodies.',
        type: 'boolean',
        examples: [true],
      },
    },
    examples: [{ files: ['image', 'mask'], numbers: ['n'], flags: ['stream'] }],
  },
  setup: options => ({
    async handle({ request, slots }, next) {
      const type = request.headers['content-type']
      if (type !== undefined && /^\s*multipart\//i.test(type)) {
        const boundary = boundaryOf(type)
        const bytes = await request.bytes()
        const parts = boundary === undefined ? undefined : partsIn(bytes, boundary)
        if (!parts) throw fault('FORM_UNREADABLE')
        request.setJson(formToJson(parts, bytes, options))
        slots.set(FILES, fileBytes(parts))
      } else if (options.only) throw fault('FORM_ONLY')
      await next()
    },
    explain: () => ({ ...options }),
  }),
} satisfies Plugin<Options>

const fileBytes = (parts: readonly FormPart[]): number =>
  parts.reduce((sum, { file, start, end }) => (file ? sum + end - start : sum), 0)

/** The form as JSON: text fields by name, and type and size of files. */
const formToJson = (parts: readonly FormPart[], bytes: Bytes, options: Options): Json => {
  const fields = new Map<string, Json>()
  for (const part of parts) {
    const name = part.name.replace(/\[\]$/, '')
    const isFile = options.files.includes(name)
    if (part.file !== isFile)
      throw fault(part.file ? 'FORM_FILE' : 'FORM_TEXT', [name], { param: name })
    const previous = fields.get(name)
    // Of two values the gateway might use one and the upstream the other.
    const isList = options.lists?.includes(name)
    if (previous !== undefined && !isFile && !isList)
      throw fault('FORM_TWICE', [name], { param: name })
    const length = part.end - part.start
    if (isFile) {
      const file = { type: part.type ?? null, bytes: length }
      fields.set(name, Array.isArray(previous) ? [...previous, file] : [file])
    } else if (length > MAX_FIELD_BYTES)
      throw fault('FORM_LONG', [name, MAX_FIELD_BYTES], { param: name })
    else if (isList)
      fields.set(name, [...(Array.isArray(previous) ? previous : []), textOf(bytes, part)])
    else fields.set(name, fieldValue(name, textOf(bytes, part), options))
  }
  return Object.fromEntries(fields)
}
const textOf = (bytes: Bytes, { start, end }: FormPart): string =>
  Buffer.from(bytes.subarray(start, end)).toString()

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])
/** The value of a field; an invalid number stays text, for the schema to refuse. */
const fieldValue = (name: string, text: string, { numbers = [], flags = [] }: Options): Json => {
  if (numbers.includes(name) && /^-?[0-9]{1,9}(?:\.[0-9]{1,9})?$/.test(text)) return Number(text)
  return flags.includes(name) ? (FLAGS.get(text) ?? text) : text
}
