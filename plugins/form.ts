/** Plugin `form`: parses multipart forms into a JSON body for other plugins, with type and size of
 *  files; the bytes stay as the client sent them. With `inline` that body has the files too, and
 *  stands for the form. */
import { flag, list, object, type RawOf, required, text } from '../engine/config/shape.ts'
import { errors } from '../engine/errors.ts'
import type { Bytes, Json, Plugin } from '../engine/plugin.ts'
import { mediaTypeOf } from './formats/media/media-type.ts'
import { boundaryOf, type FormPart, partsIn } from './formats/media/multipart.ts'
import { EXPANDED_REQUEST, FILES } from './slots.ts'

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

const NAME = /^[a-z_]{1,64}$/
const UNKNOWN_TYPE = 'application/octet-stream'
/** Size limit of a text field, bytes. */
const MAX_FIELD_BYTES = 256 * 1024

const fieldNames = (description: string, example: string) =>
  list(description, text('The name of a field.', { minLength: 1, examples: [example] }), {
    uniqueItems: true,
    examples: [[example]],
  })
const FORM = object(
  'The route accepts multipart forms, with or without JSON. Lists the fields that are not text.',
  {
    files: required(
      fieldNames('File fields; `image` also matches `image[]`, and may be repeated.', 'image'),
    ),
    numbers: fieldNames('Number fields.', 'n'),
    flags: fieldNames('Boolean fields: true or false.', 'stream'),
    lists: fieldNames(
      'Text fields that may be repeated, as `include[]` or as `include`.',
      'include',
    ),
    inline: text(
      'Files become objects whose member of this name is their data URL, as JSON bodies have them; `image[MEMBER]` sets another member. The form is then read as that JSON body.',
      { pattern: NAME.source, examples: ['image_url'] },
    ),
    only: flag('true: the route accepts no JSON bodies.', { examples: [true] }),
  },
  { examples: [{ files: ['image', 'mask'], numbers: ['n'], flags: ['stream'] }] },
)
type Options = RawOf<typeof FORM>

export default {
  schema: FORM.schema,
  setup: options => ({
    describe: () => ({ form: { files: options.files, isOnly: options.only === true } }),
    async handle({ request, slots }, next) {
      const type = request.headers['content-type']
      if (type !== undefined && /^\s*multipart\//i.test(type)) {
        const boundary = boundaryOf(type)
        const bytes = await request.bytes()
        const parts = boundary === undefined ? undefined : partsIn(bytes, boundary)
        if (!parts) throw fault('FORM_UNREADABLE')
        const body = formToJson(parts, bytes, options)
        request.setJson(body)
        slots.set(FILES, fileBytes(parts))
        if (options.inline !== undefined)
          slots.set(EXPANDED_REQUEST, { body, size: bytes.length, longer: true })
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
    const [name, member] = nameOf(part, options)
    const isFile = options.files.includes(name) && member === undefined
    if (part.file !== isFile)
      throw fault(part.file ? 'FORM_FILE' : 'FORM_TEXT', [name], { param: name })
    const previous = fields.get(name)
    // Of two values the gateway might use one and the upstream the other.
    const mayRepeat = isFile ? options.inline === undefined : options.lists?.includes(name)
    if (previous !== undefined && !mayRepeat) throw fault('FORM_TWICE', [name], { param: name })
    if (member !== undefined) fields.set(name, { [member]: textOf(bytes, part) })
    else if (isFile) fields.set(name, fileValue(part, bytes, previous, options))
    else fields.set(name, textValue(name, part, bytes, previous, options))
  }
  return Object.fromEntries(fields)
}
/** The field, and the member of it in `image[image_url]` where files are inline. */
const nameOf = ({ name }: FormPart, { files, inline }: Options): [string, string?] => {
  const [, field = '', member = ''] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? []
  const isMember = inline !== undefined && files.includes(field) && NAME.test(member)
  return isMember ? [field, member] : [name.replace(/\[\]$/, '')]
}
/** Its data URL, or a list with the type and the size of each file. */
const fileValue = (
  part: FormPart,
  bytes: Bytes,
  previous: Json | undefined,
  { inline }: Options,
): Json => {
  if (inline !== undefined) return { [inline]: dataUrlOf(bytes, part) }
  const file = { type: part.type ?? null, bytes: part.end - part.start }
  return Array.isArray(previous) ? [...previous, file] : [file]
}
const textValue = (
  name: string,
  part: FormPart,
  bytes: Bytes,
  previous: Json | undefined,
  options: Options,
): Json => {
  if (part.end - part.start > MAX_FIELD_BYTES)
    throw fault('FORM_LONG', [name, MAX_FIELD_BYTES], { param: name })
  const text = textOf(bytes, part)
  if (!options.lists?.includes(name)) return fieldValue(name, text, options)
  return [...(Array.isArray(previous) ? previous : []), text]
}
/** The type of the content counts: clients that read a file from a disk send none. */
const dataUrlOf = (bytes: Bytes, { start, end, type }: FormPart): string => {
  const content = Buffer.from(bytes.subarray(start, end))
  const recognised = mediaTypeOf(content).type
  const mime = recognised === UNKNOWN_TYPE ? (type ?? UNKNOWN_TYPE) : recognised
  return `data:${mime};base64,${content.toString('base64')}`
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
