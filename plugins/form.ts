/** A form with files in the place of a JSON body: its fields are read as JSON, its files are named there, its bytes stay. */
import { errors } from '../engine/errors.ts'
import type { Bytes, Json, Plugin } from '../engine/plugin.ts'
import { boundaryOf, type FormPart, partsIn } from './formats/multipart.ts'
import { FILES } from './slots.ts'

const fault = errors({
  FORM_UNREADABLE: [400, 'The request body is no multipart form that can be read.'],
  FORM_TWICE: [400, "'%s' is given more than once."],
  FORM_FILE: [400, "'%s' is a file, and must be a text."],
  FORM_TEXT: [400, "'%s' is a text, and must be a file."],
  FORM_LONG: [400, "'%s' is longer than %d bytes."],
  FORM_ONLY: [
    415,
    'Unsupported Content-Type: this endpoint takes multipart/form-data.',
    { headers: { 'accept-post': 'multipart/form-data' } },
  ],
})

/** The bytes of a field that is no file. */
const LONGEST = 256 * 1024

interface Options {
  readonly files: readonly string[]
  readonly numbers?: readonly string[]
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly only?: boolean
}
const names = (description: string, example: string) => ({
  description,
  type: 'array',
  items: { type: 'string', minLength: 1, description: 'The name of a field.', examples: [example] },
  uniqueItems: true,
  examples: [[example]],
})

export default {
  schema: {
    description:
      'The route takes multipart forms, beside JSON or alone: which fields are what, where they are no texts.',
    type: 'object',
    required: ['files'],
    additionalProperties: false,
    properties: {
      files: names('Files: `image` is also `image[]`, any number of times.', 'image'),
      numbers: names('Numbers.', 'n'),
      flags: names('true or false.', 'stream'),
      lists: names(
        'Texts that may be given several times, as `include[]` or as `include`.',
        'include',
      ),
      only: {
        description: 'No JSON is taken in their place.',
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
        request.means(meaningOf(parts, bytes, options))
        slots.set(FILES, filesIn(parts))
      } else if (options.only) throw fault('FORM_ONLY')
      await next()
    },
    explain: () => ({ ...options }),
  }),
} satisfies Plugin<Options>

const filesIn = (parts: readonly FormPart[]): number =>
  parts.reduce((sum, { file, start, end }) => (file ? sum + end - start : sum), 0)

/** Fields by their names, texts; of a file what is known of it. */
const meaningOf = (parts: readonly FormPart[], bytes: Bytes, options: Options): Json => {
  const said = new Map<string, Json>()
  for (const part of parts) {
    const name = part.name.replace(/\[\]$/, '')
    const isFile = options.files.includes(name)
    if (part.file !== isFile)
      throw fault(part.file ? 'FORM_FILE' : 'FORM_TEXT', [name], { param: name })
    const before = said.get(name)
    // Of two values the gateway might believe the one and the upstream the other.
    const isList = options.lists?.includes(name)
    if (before !== undefined && !isFile && !isList)
      throw fault('FORM_TWICE', [name], { param: name })
    const length = part.end - part.start
    if (isFile) {
      const file = { type: part.type ?? null, bytes: length }
      said.set(name, Array.isArray(before) ? [...before, file] : [file])
    } else if (length > LONGEST) throw fault('FORM_LONG', [name, LONGEST], { param: name })
    else if (isList) said.set(name, [...(Array.isArray(before) ? before : []), textOf(bytes, part)])
    else said.set(name, meant(name, textOf(bytes, part), options))
  }
  return Object.fromEntries(said)
}
const textOf = (bytes: Bytes, { start, end }: FormPart): string =>
  Buffer.from(bytes.subarray(start, end)).toString()

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])
/** What is no number where one should stand stays a text, for the schema to refuse. */
const meant = (name: string, text: string, { numbers = [], flags = [] }: Options): Json => {
  if (numbers.includes(name) && /^-?[0-9]{1,9}(?:\.[0-9]{1,9})?$/.test(text)) return Number(text)
  return flags.includes(name) ? (FLAGS.get(text) ?? text) : text
}
