/** The shipped schemas take every value of the types of the official SDKs: each member and each
 *  alternative once, in a body of the least members. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../../../plugins/formats/fields.ts'
import { fileValidator } from '../../../plugins/schema/compile.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'
import { fileOf } from '../../laws/sdk-schemas.ts'

/** A body, and the path of the member that it shows. */
type Sample = readonly [value: Json, at: string]

/** Values of plain types by the name of their member, where any other would be refused rightly. */
const PLAIN: Readonly<Record<string, Json>> = {
  max_tokens: 64_000,
  budget_tokens: 1024,
  temperature: 1,
  top_p: 1,
  topP: 1,
  file_data: 'x',
}
/** Google's types require no member, its API these. */
const GOOGLE_NEEDS: ReadonlySet<string> = new Set([
  'parts',
  'name',
  'data',
  'category',
  'threshold',
])

/** Yields samples of a generated schema: first the least one, then one for each alternative. */
class Samples {
  readonly #definitions: Fields
  /** Definitions on the way from the root, which end recursion. */
  readonly #path: string[] = []

  readonly #needed: ReadonlySet<string>

  constructor(definitions: Fields, needed: ReadonlySet<string>) {
    this.#definitions = definitions
    this.#needed = needed
  }
  of(schema: Fields, key: string): readonly Sample[] {
    const { $ref: ref, anyOf, allOf, const: only, enum: values, type } = schema
    if (typeof ref === 'string') return this.#named(ref.replace('#/definitions/', ''), key)
    if (Array.isArray(anyOf)) return anyOf.flatMap(each => this.of(each as Fields, key))
    if (Array.isArray(allOf)) return this.#joined(allOf as readonly Fields[], key)
    if (only !== undefined) return [[only, '']]
    if (Array.isArray(values)) return values.map(value => [value as Json, ''])
    if (Array.isArray(type)) return type.flatMap(each => this.of({ ...schema, type: each }, key))
    if (type === 'object' || schema.properties) return this.#object(schema)
    if (type === 'array') return this.#array(schema, key)
    return [[PLAIN[key] ?? plainOf(type), '']]
  }
  #named(name: string, key: string): readonly Sample[] {
    const definition = this.#definitions[decodeURIComponent(name)]
    if (!isFields(definition) || this.#path.includes(name)) return []
    this.#path.push(name)
    const samples = this.of(definition, key)
    this.#path.pop()
    return samples
  }
  #joined(schemas: readonly Fields[], key: string): readonly Sample[] {
    const least = schemas.map(each => this.of(each, key)[0]?.[0] ?? {})
    return [[Object.assign({}, ...least.filter(isFields)) as Fields, '']]
  }
  #array({ items }: Fields, key: string): readonly Sample[] {
    const samples = isFields(items) ? this.of(items, key) : []
    return samples.length === 0 ? [[[], '']] : samples.map(([value, at]) => [[value], `[]${at}`])
  }
  #object({
    properties = {},
    required = [],
    additionalProperties: others,
  }: Fields): readonly Sample[] {
    const isRequired = (key: string): boolean =>
      (required as readonly Json[]).includes(key) || this.#needed.has(key)
    const members = Object.entries(properties as Fields).map(
      ([key, schema]) => [key, isFields(schema) ? this.of(schema, key) : [[{}, '']]] as const,
    )
    const least: { [key: string]: Json } = {}
    for (const [key, samples] of members)
      if (isRequired(key)) {
        // A recursive member: the whole object has no sample here.
        if (samples.length === 0) return []
        least[key] = samples[0]?.[0] as Json
      }
    const extra = isFields(others) ? this.of(others, '')[0]?.[0] : undefined
    return [
      [extra === undefined ? least : { ...least, x: extra }, ''],
      ...members.flatMap(([key, samples]) =>
        samples.map(([value, at]): Sample => [{ ...least, [key]: value }, `.${key}${at}`]),
      ),
    ]
  }
}
const plainOf = (type: Json | undefined): Json =>
  type === 'number' || type === 'integer'
    ? 1
    : type === 'boolean'
      ? true
      : type === 'null'
        ? null
        : type === undefined
          ? {}
          : 'x'

const NONE: ReadonlySet<string> = new Set()
/** Format -> shipped schema, members that a body needs beside its own, members that always are. */
const SCHEMAS: Readonly<Record<string, readonly [string, Fields, ReadonlySet<string>]>> = {
  'openai-chat': ['schemas/chat-completions.json', {}, NONE],
  'openai-responses': ['schemas/responses.json', { model: 'm' }, NONE],
  'anthropic-messages': ['schemas/messages.json', {}, NONE],
  'google-gemini': ['schemas/generate-content.json', {}, GOOGLE_NEEDS],
}
/** The types have an image and a file without any source, which no provider takes. */
const RIGHTLY_REFUSED = /: (?:an image|a file) needs /

for (const [format, [path, members, needed]] of Object.entries(SCHEMAS))
  t.test(`${path}: takes every value of the SDK's types`, async t => {
    const schema = JSON.parse(readFileSync(fileOf(format), 'utf8')) as Fields
    const validator = fileValidator(path, fakeHost())
    const samples = new Samples(schema.definitions as Fields, needed).of(schema, '')
    t.ok(samples.length > 500, `${samples.length} samples`)
    const refusals = new Set<string>()
    for (const [body, at] of samples) {
      const complaint = validator.validate({ ...members, ...(body as Fields) })
      if (complaint && !RIGHTLY_REFUSED.test(complaint.message))
        refusals.add(`${at}: ${complaint.message}`)
    }
    t.strictSame([...refusals], [])
  })
