/** JSON Schemas of request bodies, compiled once for each content and shared by every route and reload. */
import { createHash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Ajv } from 'ajv/dist/ajv.js'
import addFormats from 'ajv-formats'
import { errors } from '../../engine/errors.ts'
import type { Fault, Json, Lent } from '../../engine/plugin.ts'
import { endless } from './bounds.ts'
import { complaint } from './complaint.ts'
import { notAbove } from './not-above.ts'
import { matcherOf } from './patterns.ts'

const fault = errors({
  SCHEMA_UNREADABLE: [500, 'cannot read the schema %s: %s', { expose: true }],
  SCHEMA_NOT_JSON: [500, '%s is not JSON: %s', { expose: true }],
  SCHEMA_REFUSED: [500, '%s is not a usable JSON Schema: %s', { expose: true }],
})

/** Says what is wrong with a body, if anything is. Bounded time for bounded bodies, whatever the schema. */
export interface Validator {
  judge(body: Json): Fault | undefined
}
type Sharer = Pick<Lent, 'share'>

/** The schema in a file beside routes.yaml. */
export const fileValidator = (path: string, host: Sharer & Pick<Lent, 'file'>): Validator => {
  let text: string
  try {
    text = host.file(path)
  } catch (thrown) {
    throw fault('SCHEMA_UNREADABLE', [path, reason(thrown)])
  }
  return validatorOf(parse(path, text), path, host)
}

/** `where`: what to call it when it is bad. */
export const validatorOf = (schema: Json, where: string, host: Sharer): Validator => {
  const content = createHash('sha256').update(JSON.stringify(schema)).digest('hex')
  return host.share(`schema ${content}`, '', () => compile(schema, where, host))
}

const parse = (path: string, text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch (thrown) {
    throw fault('SCHEMA_NOT_JSON', [path, reason(thrown)])
  }
}
const reason = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)

const compile = (schema: Json, where: string, host: Sharer): Validator => {
  const compiler = compilerFor(schema, host)
  try {
    const validate: ValidateFunction = compiler.compile(schema as object | boolean)
    const [first] = endless(schema)
    if (first !== undefined) throw new Error(first)
    // ajv remembers every schema it has seen; a gateway that reloads for months must not.
    if (typeof schema === 'object' && schema !== null) compiler.removeSchema(schema)
    return {
      judge: body => (validate(body) ? undefined : complaint(validate.errors ?? [])),
    }
  } catch (thrown) {
    throw fault('SCHEMA_REFUSED', [where, reason(thrown)])
  }
}

/** Making one costs 15 ms, since the schema of schemas is compiled first: one for all, for each draft. */
const compilerFor = (schema: Json, host: Sharer): Ajv => {
  const draft = String((schema as { readonly $schema?: Json } | null)?.$schema ?? '')
  return draft.includes('draft-07')
    ? host.share('schema compiler draft-07', '', () => extend(new Ajv(OPTIONS)))
    : host.share('schema compiler 2020-12', '', () => extend(new Ajv2020(OPTIONS)))
}

/** `$data` lets a body choose the pattern it is judged by (CVE-2025-69873): never. Strict: a misspelt keyword is a
 *  fault at load, not a rule that never applies. */
const OPTIONS = {
  $data: false,
  allErrors: false,
  verbose: true,
  strict: true,
  strictRequired: false,
  strictTypes: false,
  strictTuples: false,
  allowUnionTypes: true,
  discriminator: true,
  // V8 makes as much of either; to be made, the optimized code takes twice as long.
  code: { regExp: linear(), optimize: false },
} as const

/** ajv asks for the code of what makes a pattern, too. */
function linear() {
  return Object.assign((pattern: string) => matcherOf(pattern), { code: 'linear' }) as unknown as {
    (): RegExp
    code: string
  }
}

const extend = <T extends Ajv>(compiler: T): T => {
  addFormats.default(compiler, { mode: 'fast' })
  // The field's own words, said instead of ours.
  compiler.addKeyword({ keyword: 'errorMessage', schemaType: 'string' })
  compiler.addKeyword(notAbove)
  return compiler
}
